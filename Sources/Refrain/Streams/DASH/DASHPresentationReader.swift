// SPDX-License-Identifier: MIT
import Foundation

/// Reads periods, tracks and qualities from the elements of an MPD.
struct DASHPresentationReader {
  private typealias Presentation = DASHPresentation

  /// What an element inherits from those around it.
  private struct Level {
    /// Nil if it is too long.
    var base: URL?
    var hasBase = false
    var segments: DASHSegments?
  }

  /// What the Representations of an AdaptationSet inherit from its attributes: one copy for all.
  private struct Common {
    var width: String?
    var height: String?
    var codecs: String?
    var frameRate: String?
  }

  private static let mostRepresentations = 10_000
  /// A chain of bases would otherwise multiply the size of the MPD.
  private static let longestBase = 4096

  private let document: DASHDocument
  private var count = 0

  init(_ document: DASHDocument) { self.document = document }

  consuming func presentation(at url: URL) throws(DASHProblem) -> DASHPresentation {
    let root = DASHDocument.root
    guard document.link(of: root) == nil else { throw .isRemote }
    let level = try below(Level(base: url), root)
    let total = seconds("mediaPresentationDuration", of: root)
    var periods: [Presentation.Period] = []
    let elements = try present(root, .period)
    let starts = starts(of: elements)
    let durations = durations(of: elements, starts, total: total)
    for (number, element) in elements.enumerated() {
      periods.append(
        .init(
          duration: durations[number], sets: try sets(of: element, try below(level, element))))
    }
    let sum = durations.reduce(0 as Double?) { sum, next in
      guard let sum, let next else { return nil }
      return sum + next
    }
    return DASHPresentation(
      isDynamic: document.attribute("type", of: root) == "dynamic", periods: periods,
      duration: total ?? sum)
  }

  /// Returns the children of a kind, without those whose link removes them.
  private func present(
    _ index: Int, _ kind: DASHDocument.Kind
  ) throws(DASHProblem) -> [Int] {
    var present: [Int] = []
    for child in document.children(of: index, kind) {
      switch document.link(of: child) {
      case nil: present.append(child)
      case .removes: break
      case .elsewhere: throw .isRemote
      }
    }
    return present
  }

  private func below(_ outer: Level, _ index: Int) throws(DASHProblem) -> Level {
    var level = outer
    if let first = document.firstChild(of: index, .baseURL) {
      guard document.attribute("byteRange", of: first) == nil else {
        throw DASHProblem(reason: "its manifest turns ranges into URLs.")
      }
      level.hasBase = true
      level.base = document.text(of: first).flatMap { text in
        guard text.utf8.count <= Self.longestBase else { return nil }
        return outer.base.flatMap { URL(text: text, relativeTo: $0) }
      }
      if let base = level.base, base.absoluteString.utf8.count > Self.longestBase {
        level.base = nil
      }
    }
    guard document.elements[index].kind != .mpd else { return level }
    if let own = try document.segments(of: index) {
      level.segments = own.inheriting(from: outer.segments)
    }
    return level
  }

  // MARK: Time

  private func seconds(_ name: StaticString, of index: Int) -> Double? {
    document.attribute(name, of: index).flatMap(DASHNumbers.seconds)
  }

  /// Returns the starts of periods, which may follow from the end of the one before (§5.3.2.1).
  private func starts(of periods: [Int]) -> [Double?] {
    var starts: [Double?] = []
    for (number, period) in periods.enumerated() {
      let before =
        number == 0 ? 0 : end(of: periods[number - 1], from: starts[number - 1])
      starts.append(seconds("start", of: period) ?? before)
    }
    return starts
  }

  /// Returns the durations of periods, which may follow from the start of the next one
  /// (§5.3.2.1).
  private func durations(of periods: [Int], _ starts: [Double?], total: Double?) -> [Double?] {
    periods.enumerated().map { number, period in
      if let duration = seconds("duration", of: period) { return duration }
      let next = number + 1 < periods.count ? starts[number + 1] : total
      guard let start = starts[number], let next, next >= start else { return nil }
      return next - start
    }
  }

  private func end(of period: Int, from start: Double?) -> Double? {
    guard let start, let duration = seconds("duration", of: period) else { return nil }
    return start + duration
  }

  // MARK: Tracks

  private mutating func sets(
    of period: Int, _ level: Level
  ) throws(DASHProblem) -> [Presentation.AdaptationSet] {
    var sets: [Presentation.AdaptationSet] = []
    for element in try present(period, .adaptationSet) {
      let level = try below(level, element)
      let common = common(of: element)
      var representations: [Presentation.Representation] = []
      for child in try present(element, .representation) {
        count += 1
        guard count <= Self.mostRepresentations else { throw .isTooLarge }
        representations.append(representation(child, common, try below(level, child)))
      }
      sets.append(set(element, representations))
    }
    return sets
  }

  private func set(
    _ index: Int, _ representations: [Presentation.Representation]
  ) -> Presentation.AdaptationSet {
    let roles = document.children(of: index, .role).filter {
      document.attribute("schemeIdUri", of: $0) == "urn:mpeg:dash:role:2011"
    }
    let component = document.firstChild(of: index, .component)
    let language =
      document.attribute("lang", of: index)
      ?? component.flatMap { document.attribute("lang", of: $0) }
    return .init(
      kind: kind(of: index), language: language,
      label: document.firstChild(of: index, .label).flatMap(document.text),
      roles: roles.compactMap { document.attribute("value", of: $0) },
      channels: channels(of: index),
      priority: document.attribute("selectionPriority", of: index).flatMap {
        Int64(digits: $0)
      } ?? 1,
      isTrickPlay: isTrickPlay(index), bytes: document.elements[index].bytes,
      representations: representations)
  }

  private func common(of set: Int) -> Common {
    Common(
      width: document.attribute("width", of: set), height: document.attribute("height", of: set),
      codecs: document.attribute("codecs", of: set),
      frameRate: document.attribute("frameRate", of: set))
  }

  private func representation(
    _ index: Int, _ common: Common, _ level: Level
  ) -> Presentation.Representation {
    func own(_ name: StaticString) -> String? { document.attribute(name, of: index) }
    func integer(_ text: String?) -> Int? {
      text.flatMap { Int64(digits: $0) }.map { Int(clamping: $0) }
    }
    return .init(
      id: own("id") ?? "", bandwidth: own("bandwidth").flatMap { Int64(digits: $0) } ?? 0,
      width: integer(own("width") ?? common.width),
      height: integer(own("height") ?? common.height), codecs: own("codecs") ?? common.codecs,
      frameRate: (own("frameRate") ?? common.frameRate).flatMap(DASHNumbers.frameRate),
      isDependent: own("dependencyId") != nil,
      bytes: document.elements[index].bytes, base: level.base, hasBase: level.hasBase,
      segments: level.segments)
  }

  private func channels(of set: Int) -> String? {
    let element =
      document.firstChild(of: set, .channels)
      ?? document.firstChild(of: set, .representation).flatMap {
        document.firstChild(of: $0, .channels)
      }
    return element.flatMap { document.attribute("value", of: $0) }
  }

  private static let trickPlay = "http://dashif.org/guidelines/trickmode"

  private func isTrickPlay(_ set: Int) -> Bool {
    document.children(of: set).contains { child in
      let kind = document.elements[child].kind
      return (kind == .essentialProperty || kind == .supplementalProperty)
        && document.attribute("schemeIdUri", of: child) == Self.trickPlay
    }
  }

  private func kind(of set: Int) -> DASHPresentation.MediaKind {
    let components = document.children(of: set, .component)
    let stated =
      [document.attribute("contentType", of: set)]
      + components.map { document.attribute("contentType", of: $0) }
    // A set of both contains the sound in its pictures.
    if stated.contains("video") { return .video }
    for type in stated.compactMap(\.self) {
      if let kind = Self.kinds[type] { return kind }
    }
    let first = document.firstChild(of: set, .representation)
    func inherited(_ name: StaticString) -> String {
      let own = document.attribute(name, of: set)
      return (own ?? first.flatMap { document.attribute(name, of: $0) } ?? "").lowercased()
    }
    let (type, codecs) = (inherited("mimeType"), inherited("codecs"))
    if codecs.hasPrefix("stpp") || codecs.hasPrefix("wvtt") { return .text }
    if type == "application/ttml+xml" { return .text }
    return Self.kinds[String(type.prefix { $0 != "/" })] ?? .other
  }

  private static let kinds: [String: DASHPresentation.MediaKind] = [
    "video": .video, "audio": .audio, "text": .text,
  ]
}
