// SPDX-License-Identifier: MIT
package import Foundation
import Refrain

extension DASHPresentation {
  /// Nil if the body is no MPD, does not end, is not in UTF-8 (or ASCII), declares entities, or
  /// has an element with too many attributes.
  ///
  /// - Parameter url: the URL of the MPD after redirects.
  /// - Throws: `DASHProblem`, if the MPD does not contain its periods and tracks itself, or has too
  ///   many.
  package init?(_ body: [UInt8], url: URL) throws(DASHProblem) {
    guard let tree = DASHTree(body), tree.isWholeMPD else { return nil }
    var reader = DASHPresentationReader(tree: tree)
    self = try reader.presentation(at: url)
  }
}

/// Reads periods, tracks and qualities from the elements of an MPD.
private struct DASHPresentationReader {
  typealias AdaptationSet = DASHPresentation.AdaptationSet
  typealias Representation = DASHPresentation.Representation

  private static let mostRepresentations = 10_000
  /// A chain of bases would otherwise multiply the size of the MPD.
  private static let longestBase = 4096

  let tree: DASHTree
  private var count = 0

  init(tree: DASHTree) { self.tree = tree }

  mutating func presentation(at url: URL) throws(DASHProblem) -> DASHPresentation {
    let root = 0
    guard tree.link(of: root) == nil else { throw .isRemote }
    let level = try below(Representation(base: url), root)
    let total = seconds("mediaPresentationDuration", of: root)
    let elements = try present(root, .period)
    var periods: [DASHPresentation.Period] = []
    for (element, duration) in zip(elements, durations(of: elements, total: total)) {
      let sets = try sets(of: element, try below(level, element))
      periods.append(.init(duration: duration, sets: sets))
    }
    let sum = periods.reduce(0 as Double?) { sum, period in
      sum.flatMap { sum in period.duration.map { sum + $0 } }
    }
    return DASHPresentation(
      isDynamic: tree.attribute("type", of: root) == "dynamic", periods: periods,
      duration: total ?? sum)
  }

  /// Returns the children of a kind, without those whose link removes them.
  private func present(_ index: Int, _ kind: DASHElement) throws(DASHProblem) -> [Int] {
    let children = tree.children(of: index, kind).filter { tree.link(of: $0) != .removes }
    guard children.allSatisfy({ tree.link(of: $0) == nil }) else { throw .isRemote }
    return children
  }

  /// Returns what an element states, and inherits from those around it: one copy for all
  /// Representations in it.
  private func below(_ outer: Representation, _ index: Int) throws(DASHProblem) -> Representation {
    var level = outer
    if let first = tree.firstChild(of: index, .baseURL) {
      guard tree.attribute("byteRange", of: first) == nil else {
        throw DASHProblem(reason: "its manifest turns ranges into URLs.")
      }
      level.hasBase = true
      level.base = base(tree.text(of: first)?.text, below: outer.base)
    }
    level.segments = try DASHSegments(in: index, of: tree, below: outer.segments) ?? outer.segments
    level.width = integer("width", of: index).map { Int(clamping: $0) } ?? outer.width
    level.height = integer("height", of: index).map { Int(clamping: $0) } ?? outer.height
    level.codecs = tree.attribute("codecs", of: index) ?? outer.codecs
    let frameRate = tree.attribute("frameRate", of: index).flatMap(DASHNumbers.frameRate)
    level.frameRate = frameRate ?? outer.frameRate
    return level
  }

  private func representation(
    _ index: Int, below outer: Representation
  ) throws(DASHProblem) -> Representation {
    var representation = try below(outer, index)
    representation.id = tree.attribute("id", of: index) ?? ""
    representation.bandwidth = integer("bandwidth", of: index) ?? 0
    representation.isDependent = tree.attribute("dependencyId", of: index) != nil
    representation.bytes = tree.elements[index].bytes
    return representation
  }

  private func integer(_ name: StaticString, of index: Int) -> Int64? {
    tree.attribute(name, of: index).flatMap { Int64(digits: $0) }
  }

  private func base(_ text: String?, below outer: URL?) -> URL? {
    guard let text, let outer, text.utf8.count <= Self.longestBase,
      let base = URL(text: text, relativeTo: outer),
      base.absoluteString.utf8.count <= Self.longestBase
    else { return nil }
    return base
  }

  // MARK: Time

  private func seconds(_ name: StaticString, of index: Int) -> Double? {
    tree.attribute(name, of: index).flatMap(DASHNumbers.seconds)
  }

  /// Returns the durations of periods. A period may begin at the end of the one before, and end at
  /// the start of the next one (§5.3.2.1).
  private func durations(of periods: [Int], total: Double?) -> [Double?] {
    let stated = periods.map { seconds("duration", of: $0) }
    var starts: [Double?] = []
    var end: Double? = 0
    for (period, duration) in zip(periods, stated) {
      let start = seconds("start", of: period) ?? end
      starts.append(start)
      end = start.flatMap { start in duration.map { start + $0 } }
    }
    let ends = starts.dropFirst() + [total]
    return zip(stated, zip(starts, ends)).map { stated, bounds in
      if let stated { return stated }
      guard let start = bounds.0, let end = bounds.1, end >= start else { return nil }
      return end - start
    }
  }

  // MARK: Tracks

  private mutating func sets(
    of period: Int, _ level: Representation
  ) throws(DASHProblem) -> [AdaptationSet] {
    var sets: [AdaptationSet] = []
    for element in try present(period, .adaptationSet) {
      let level = try below(level, element)
      let children = try present(element, .representation)
      count += children.count
      guard count <= Self.mostRepresentations else { throw .isTooLarge }
      let representations = try children.map { child throws(DASHProblem) in
        try representation(child, below: level)
      }
      sets.append(set(element, representations))
    }
    return sets
  }

  private func set(_ index: Int, _ representations: [Representation]) -> AdaptationSet {
    let roles = tree.children(of: index, .role).filter {
      tree.attribute("schemeIdUri", of: $0) == "urn:mpeg:dash:role:2011"
    }
    let component = tree.firstChild(of: index, .component)
    return .init(
      kind: kind(of: index),
      language: tree.attribute("lang", of: index)
        ?? component.flatMap { tree.attribute("lang", of: $0) },
      label: tree.firstChild(of: index, .label).flatMap { tree.text(of: $0)?.text },
      roles: roles.compactMap { tree.attribute("value", of: $0) },
      channels: channels(of: index),
      priority: integer("selectionPriority", of: index) ?? 1,
      isTrickPlay: isTrickPlay(index), bytes: tree.elements[index].bytes,
      representations: representations)
  }

  private func channels(of set: Int) -> String? {
    let first = tree.firstChild(of: set, .representation)
    let element =
      tree.firstChild(of: set, .channels) ?? first.flatMap { tree.firstChild(of: $0, .channels) }
    return element.flatMap { tree.attribute("value", of: $0) }
  }

  private func isTrickPlay(_ set: Int) -> Bool {
    tree.children(of: set).contains { child in
      let kind = tree.elements[child].kind
      return (kind == .essentialProperty || kind == .supplementalProperty)
        && tree.attribute("schemeIdUri", of: child) == "http://dashif.org/guidelines/trickmode"
    }
  }

  private func kind(of set: Int) -> DASHPresentation.MediaKind {
    let components = tree.children(of: set, .component)
    let stated = ([set] + components).compactMap { tree.attribute("contentType", of: $0) }
    // A set of both contains the sound in its pictures.
    if stated.contains("video") { return .video }
    if let kind = stated.lazy.compactMap({ Self.kinds[$0] }).first { return kind }
    let first = tree.firstChild(of: set, .representation)
    func inherited(_ name: StaticString) -> String {
      let own = tree.attribute(name, of: set)
      return (own ?? first.flatMap { tree.attribute(name, of: $0) } ?? "").lowercased()
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

/// Values of attributes of an MPD. None traps.
enum DASHNumbers {
  private static let longest = 64

  /// Returns the seconds of an xs:duration without years and months, as in MPDs: `PT1M2.5S`.
  static func seconds(_ text: String) -> Double? {
    guard text.utf8.count <= longest, text.hasPrefix("P") else { return nil }
    var sum = 0.0
    var number = ""
    var isTime = false
    for character in text.dropFirst() {
      switch character {
      case "T" where !isTime && number.isEmpty: isTime = true
      case "0"..."9", ".": number.append(character)
      default:
        let units: [Character: Double] = isTime ? ["H": 3600, "M": 60, "S": 1] : ["D": 86_400]
        guard let unit = units[character], let value = Double(number) else { return nil }
        sum += value * unit
        number = ""
      }
    }
    return number.isEmpty && sum.isFinite ? min(sum, Double(CacheControl.longest)) : nil
  }

  /// Returns `25`, or `30000/1001`, in pictures per second.
  static func frameRate(_ text: String) -> Double? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let pictures = Int64(digits: parts[0]),
      let seconds = parts.count == 2 ? Int64(digits: parts[1]) : 1, seconds > 0
    else { return nil }
    return Double(pictures) / Double(seconds)
  }
}
