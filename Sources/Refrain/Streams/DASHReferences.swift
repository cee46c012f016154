// SPDX-License-Identifier: MIT
package import Foundation

/// A reference of an MPD to another resource.
package struct DASHReference: Sendable, Hashable {
  /// The reference as the MPD writes it. Its range may be replaced by
  /// `DASHReferences.escaped(_:)` of any text: a CDATA section lies within the range as a whole.
  package var reference: ManifestReference
  /// The absolute URL, if the reference must be replaced where the MPD and its segments are served
  /// below another prefix: it has a scheme, a host or a path from the root, or it climbs above the
  /// root by `..`. Nil for any other reference: relative to the replaced bases it stays correct.
  /// Nil too where no host is possible, as in `https:///` or below a `urn:`.
  ///
  /// Identifiers of templates (`$Number%05d$`) are unchanged. The scheme may be any, `urn:` or
  /// `data:` too.
  package var resolved: String?
  /// Whether clients may resolve the reference above the root of its host, by a base or with a
  /// value that they choose. Below another prefix it would name another host, so that it must not
  /// stay. It has no absolute form.
  package var isUnsafe = false
  /// The absolute URL of a reference that has no `resolved` one, if it leads out of its directory by
  /// `..`, or is a BaseURL below an absolute one. Nil too if it is not known, or the MPD has too many.
  package internal(set) var located: String?
  /// Whether the reference is a BaseURL below one with a scheme. Where that one is replaced by a
  /// path, this one has to be too: ffmpeg's demuxer, which mpv uses, resolves a BaseURL against the
  /// MPD unless a BaseURL above has a scheme (`resolve_content_path` in `libavformat/dashdec.c`).
  package internal(set) var isBelowAbsolute = false

  package init(reference: ManifestReference, resolved: String?) {
    self.reference = reference
    self.resolved = resolved
  }
}

/// The references of an MPD (ISO/IEC 23009-1), in the order of the body.
///
/// **The base of a reference** (§5.6.4) is the chain of the BaseURL elements of MPD, Period,
/// AdaptationSet and Representation, below the URL of the MPD.
/// - Several BaseURLs of one level are alternatives. The first one is the base. A reference must not
///   climb above the root with any of them.
/// - A SegmentTemplate, SegmentList or SegmentBase of a Period or an AdaptationSet holds for the
///   Representations below, so its references have the base of the first of these. They must not
///   climb above the root with that of any other.
/// - `xlink:href` has the base of the enclosing level, since its element is yet to come.
/// - Location has the URL of the MPD as its base.
///
/// A part of an MPD that is a document of its own (§5.5) is read alike. The bases above its elements
/// are not in it: the document's URL stands for these, so that a relative reference is resolved to
/// the wrong host if the MPD has an absolute BaseURL. Nor does an MPD with links contain all bases.
/// In both, a reference that climbs above its document's own BaseURLs is replaced.
package struct DASHReferences: Sendable {
  package var references: [DASHReference] = []
  /// The replacements of values that could lead to another directory than the template in which
  /// clients put them, by the bytes of the values.
  package var values: [(range: Range<Int>, replacement: String)] = []
  /// The PatchLocation elements (§5.15). A client without them requests the whole MPD again; the
  /// references in a patch would lead it past the rewritten ones.
  package var patchLocations: [Range<Int>] = []

  /// - Parameters:
  ///   - body: an MPD or a part of one. It may be incomplete at the end.
  ///   - url: its URL after redirections.
  /// - Returns: nil if the body is none of these, is not in UTF-8 (or ASCII), or declares entities.
  package init?(of body: [UInt8], url: URL) {
    var reader = DASHReader(body)
    guard reader.read() else { return nil }
    references = reader.references(url: url)
    values = reader.values
    patchLocations = reader.patchLocations
  }

  /// Returns a text as it is written in an MPD: with references for `&`, `<`, `>` and quotes.
  package static func escaped(_ text: String) -> String { MarkupText.escaped(text) }
}

/// Collects the references of an MPD, and the levels of bases to which they belong.
private struct DASHReader {
  /// An element with BaseURLs. The first level is the document, above the MPD.
  private struct Level {
    var above: Int
    var bases: [String] = []
    /// The first Representation at or below this level.
    var representation: Int?
  }

  /// A text that is a reference, or a value in templates.
  private struct Content {
    /// Nil for a value in templates.
    var kind: ManifestReference.Kind?
    var level: Int
    var isSegment = false
    var bytes: [UInt8] = []
    /// The bytes from the first character to the last, without white space around them.
    var range: Range<Int>?

    mutating func add(_ decoded: some Sequence<UInt8>, at piece: Range<Int>) {
      bytes += decoded
      if !piece.isEmpty {
        range = min(range?.lowerBound ?? piece.lowerBound, piece.lowerBound)..<piece.upperBound
      }
    }
  }

  /// The bytes of all whole URLs (`DASHPlace`): only hostile MPDs have more.
  private static let mostLocated = 4 << 20

  private let body: [UInt8]
  private var scanner: MarkupScanner
  private var open: [DASHElement] = []
  private var hasRoot = false
  /// Whether the last root is a part of an MPD.
  private var isRemote = false
  /// Whether the references have no other bases than those in the document.
  private var hasAllBases = true
  private(set) var values: [(range: Range<Int>, replacement: String)] = []
  private(set) var patchLocations: [Range<Int>] = []
  private var levels = [Level(above: 0)]
  private var level = 0
  private var found: [(reference: ManifestReference, level: Int, isSegment: Bool)] = []
  /// Nil outside of such texts, and where there are elements among one.
  private var content: Content?
  private var linkPrefixes: Set<ArraySlice<UInt8>> = [ArraySlice("xlink".utf8)]

  init(_ body: [UInt8]) {
    self.body = body
    scanner = MarkupScanner(body)
  }

  /// - Returns: whether this is such a document, and its references are all visible.
  mutating func read() -> Bool {
    while let token = scanner.next() {
      switch token {
      case .unsupported: return false
      case .text(let range):
        if open.isEmpty, !MarkupText.trimmed(range, in: body).isEmpty { return false }
        addText(range)
      case .section(let range):
        if open.isEmpty { return false }
        let start = range.lowerBound - MarkupScanner.sectionStart.count
        content?.add(body[range], at: start..<range.upperBound + MarkupScanner.sectionEnd.count)
      case .start(let name, let isEmpty):
        let element =
          open.isEmpty
          ? DASHElement(root: body[name]) : DASHElement(body[name], in: open.last)
        if open.isEmpty, element == .other { return false }
        hasRoot = true
        if element == .patchLocation, open.last == .mpd {
          // Until its end is found, it takes the rest of the document.
          patchLocations.append(name.lowerBound - 1..<body.count)
        }
        begin(element)
        if isEmpty { end() }
      case .end:
        guard !open.isEmpty else { return false }
        end()
      }
      // Only comments may follow the root, except that several elements may replace one.
      if open.isEmpty, hasRoot, !isRemote { return true }
    }
    return hasRoot
  }

  func references(url: URL) -> [DASHReference] {
    var bases = [DASHBase(url, isCertain: hasAllBases)]
    var allowance = Self.mostLocated
    var places = [hasAllBases ? DASHPlace(url) : DASHPlace()]
    bases.reserveCapacity(levels.count)
    places.reserveCapacity(levels.count)
    for level in levels.dropFirst() {
      bases.append(bases[level.above].below(level.bases))
      places.append(places[level.above].below(level.bases, &allowance))
    }
    let fewest = fewestDirectories(bases)
    return found.map { reference, index, isSegment in
      let level = isSegment ? levels[index].representation ?? index : index
      var found = DASHReference(reference: reference, resolved: nil)
      guard !DASHTemplateValue.isUnsafe(template: reference.text) else {
        found.isUnsafe = true
        return found
      }
      switch bases[level].target(of: reference.text, fewest: isSegment ? fewest[index] : nil) {
      case .inside: found.locate(in: places[level], &allowance)
      case .absolute(let text): found.resolved = text
      case .unsafe: found.isUnsafe = true
      }
      return found
    }
  }

  /// Returns the fewest directories of the bases of all Representations at or below each level; nil
  /// where there are none.
  private func fewestDirectories(_ bases: [DASHBase]) -> [Int?] {
    var fewest = [Int?](repeating: nil, count: levels.count)
    for index in levels.indices.dropFirst().reversed() {
      if levels[index].representation == index {
        fewest[index] = bases[index].fewestDirectories
      }
      guard let own = fewest[index] else { continue }
      let above = levels[index].above
      fewest[above] = min(fewest[above] ?? own, own)
    }
    return fewest
  }

  // MARK: Elements

  private mutating func begin(_ element: DASHElement) {
    if open.isEmpty {
      isRemote = element.isRemote
      if element != .mpd { hasAllBases = false }
    }
    content = content(of: element)
    // Links belong to the level above, since the element of a link is yet to come.
    addAttributes(of: element)
    enter(element)
  }

  private func content(of element: DASHElement) -> Content? {
    element.kindOfText.map {
      Content(kind: $0, level: element == .baseURL ? levels[level].above : 0)
    }
  }

  private mutating func enter(_ element: DASHElement) {
    open.append(element)
    guard element.hasBase else { return }
    levels.append(Level(above: level))
    level = levels.count - 1
    guard element == .representation else { return }
    var above: Int? = level
    while let index = above, index > 0, levels[index].representation == nil {
      levels[index].representation = level
      above = levels[index].above
    }
  }

  /// Ends the innermost element, whatever name the end tag has.
  private mutating func end() {
    guard let element = open.popLast() else { return }
    if element.hasBase { level = levels[level].above }
    if element == .patchLocation, open.last == .mpd, let last = patchLocations.popLast() {
      patchLocations.append(last.lowerBound..<scanner.position)
    }
    guard let content else { return }
    self.content = nil
    let text = MarkupText.trimmed(content.bytes.indices, in: content.bytes)
    guard let text = String(validating: content.bytes[text], as: UTF8.self) else { return }
    if element == .baseURL { levels[level].bases.append(text) }
    guard let range = content.range, !text.isEmpty, text != Self.resolveToZero else { return }
    guard let kind = content.kind else { return addValue(text, at: range) }
    add(kind, at: range, text, level: content.level, isSegment: content.isSegment)
  }

  private mutating func addText(_ range: Range<Int>) {
    guard content != nil else { return }
    let decoded = MarkupText.decoded(body[range]).map { Array($0.utf8) } ?? Array(body[range])
    content?.add(decoded, at: MarkupText.trimmed(range, in: body))
  }

  private mutating func add(
    _ kind: ManifestReference.Kind, at range: Range<Int>, _ text: String, level: Int,
    isSegment: Bool = false
  ) {
    let reference = ManifestReference(kind: kind, range: range, text: text)
    found.append((reference, level, isSegment))
  }

  private mutating func addValue(_ text: String, at range: Range<Int>) {
    if let replacement = DASHTemplateValue.replacement(for: text) {
      values.append((range, replacement))
    }
  }

  // MARK: Attributes

  private static let linkNamespace = Array("http://www.w3.org/1999/xlink".utf8)
  private static let declaration = Array("xmlns:".utf8)
  /// The value of a link that removes its element (§5.5.3).
  private static let resolveToZero = "urn:mpeg:dash:resolve-to-zero:2013"

  private mutating func addAttributes(of element: DASHElement) {
    guard !element.isForeign else { return }
    for attribute in scanner.attributes where body[attribute.name].starts(with: Self.declaration) {
      if body[attribute.value].elementsEqual(Self.linkNamespace) {
        linkPrefixes.insert(body[attribute.name].dropFirst(Self.declaration.count))
      }
    }
    for attribute in scanner.attributes {
      let name = body[attribute.name]
      let range = MarkupText.trimmed(attribute.value, in: body)
      let isLink = isLink(name)
      // There may be 100,000s of numbers.
      if element.isTemplateValue(name), !body[range].allSatisfy(\.isDigit),
        let text = MarkupText.decoded(body[range])
      {
        addValue(text, at: range)
      }
      guard !range.isEmpty, let kind = isLink ? .location : element.kind(ofAttribute: name),
        let text = MarkupText.decoded(body[range]), !isLink || text != Self.resolveToZero
      else { continue }
      if isLink { hasAllBases = false }
      let isSegment = !isLink && element != .initializationSet
      add(kind, at: range, text, level: level, isSegment: isSegment)
    }
  }

  private func isLink(_ name: ArraySlice<UInt8>) -> Bool {
    guard name.count > 5, name.suffix(5).elementsEqual(":href".utf8) else { return false }
    return linkPrefixes.contains(name.dropLast(5))
  }
}
