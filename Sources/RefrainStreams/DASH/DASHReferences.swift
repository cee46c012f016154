// SPDX-License-Identifier: MIT
package import Foundation
import Refrain

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
  package internal(set) var resolved: String?
  /// Whether clients may resolve the reference above the root of its host, by a base or with a
  /// value that they choose. Below another prefix it would name another host, so that it must not
  /// stay. It has no absolute form.
  package internal(set) var isUnsafe = false
  /// The absolute URL of a reference that has no `resolved` one, if it leads out of its directory by
  /// `..`, or is a BaseURL below an absolute one. Nil too if it is not known, or the MPD has too many.
  package internal(set) var located: String?
  /// Whether the reference is a BaseURL below one with a scheme. Where that one is replaced by a
  /// path, this one has to be too: ffmpeg's demuxer, which mpv uses, resolves a BaseURL against the
  /// MPD unless a BaseURL above has a scheme (`resolve_content_path` in `libavformat/dashdec.c`).
  package internal(set) var isBelowAbsolute = false
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
  package fileprivate(set) var references: [DASHReference] = []
  /// The replacements of values that could lead to another directory than the template in which
  /// clients put them, by the bytes of the values.
  package fileprivate(set) var values: [(range: Range<Int>, replacement: String)] = []
  /// The PatchLocation elements (§5.15). A client without them requests the whole MPD again; the
  /// references in a patch would lead it past the rewritten ones.
  package fileprivate(set) var patchLocations: [Range<Int>] = []
  /// The seconds for which segments of a live presentation stay available (`timeShiftBufferDepth`,
  /// §5.3.1.2); nil: for ever, or they do not change.
  package fileprivate(set) var window: Double?

  /// - Parameters:
  ///   - body: an MPD or a part of one. It may be incomplete at the end.
  ///   - url: its URL after redirections.
  /// - Returns: nil if the body is none of these, is not in UTF-8 (or ASCII), or declares entities.
  package init?(of body: [UInt8], url: URL) {
    guard let tree = DASHTree(body) else { return nil }
    let elements = tree.elements.indices
    let hasLinks = elements.contains { tree.link(of: $0) == .elsewhere }
    let base = DASHBase(url, isCertain: tree.elements[0].kind == .mpd && !hasLinks)
    var visitor = DASHReferenceVisitor(tree: tree)
    visitor.visit(elements, base, above: base)
    self = visitor.found
    if tree.elements[0].kind == .mpd, tree.attribute("type", of: 0) == "dynamic" {
      window = tree.attribute("timeShiftBufferDepth", of: 0).flatMap(DASHNumbers.seconds)
    }
  }

  fileprivate init() {}

  /// Returns a text as it is written in an MPD: with references for `&`, `<`, `>` and quotes.
  package static func escaped(_ text: String) -> String { MarkupText.escaped(text) }
}

/// Collects the references of an MPD, level by level of its bases.
private struct DASHReferenceVisitor {
  /// The bases of Representations.
  struct Bases {
    var first: DASHBase
    var fewestDirectories: Int
  }

  let tree: DASHTree
  var found = DASHReferences()
  /// The bytes left for whole URLs: only hostile MPDs have more.
  private var allowance = 4 << 20

  init(tree: DASHTree) { self.tree = tree }

  /// Visits the elements of a level: of the document, or in an element with BaseURLs.
  ///
  /// - Parameter above: the base of the level's own BaseURLs.
  /// - Returns: the bases of the Representations among the elements; nil if there are none.
  @discardableResult
  mutating func visit(_ elements: Range<Int>, _ base: DASHBase, above: DASHBase) -> Bases? {
    var inner: Bases?
    var segments: [Int] = []
    var next = elements.lowerBound
    while next < elements.upperBound {
      let (index, element) = (next, tree.elements[next])
      next = element.kind.hasBase ? element.end : index + 1
      if element.kind == .patchLocation { found.patchLocations.append(element.bytes) }
      // Links belong to this level, since the element of a link is yet to come.
      segments += addAttributes(of: index, base)
      addText(of: index, above)
      addValues(of: index)
      guard element.kind.hasBase, let bases = visit(level: index, below: base) else { continue }
      let fewest = min(inner?.fewestDirectories ?? .max, bases.fewestDirectories)
      inner = Bases(first: inner?.first ?? bases.first, fewestDirectories: fewest)
    }
    for index in segments {
      resolve(index, inner?.first ?? base, fewest: inner?.fewestDirectories ?? .max)
    }
    return inner
  }

  private mutating func visit(level index: Int, below above: DASHBase) -> Bases? {
    let texts = tree.children(of: index, .baseURL).compactMap { text(of: $0)?.text }
    let base = above.below(texts, &allowance)
    let inner = visit(index + 1..<tree.elements[index].end, base, above: above)
    guard tree.elements[index].kind == .representation else { return inner }
    return Bases(first: base, fewestDirectories: base.fewestDirectories)
  }

  /// - Parameter fewest: the fewest directories of the bases of the reference besides `base`.
  private mutating func resolve(_ index: Int, _ base: DASHBase, fewest: Int = .max) {
    var resolved = found.references[index]
    defer { found.references[index] = resolved }
    let (kind, text) = (resolved.reference.kind, resolved.reference.text)
    guard !DASHTemplate.isUnsafe(text) else {
      resolved.isUnsafe = true
      return
    }
    switch base.target(of: text, fewest: fewest) {
    case .absolute(let text): resolved.resolved = text
    case .unsafe: resolved.isUnsafe = true
    case .inside:
      let isBelowAbsolute = kind == .base && base.isBelowAbsolute
      guard isBelowAbsolute || text.contains(".."), allowance > 0,
        let url = base.resolved(text)?.textWithoutFragment
      else { return }
      allowance -= url.utf8.count
      resolved.located = url
      resolved.isBelowAbsolute = isBelowAbsolute
    }
  }

  // MARK: Elements

  /// - Returns: the index of the reference; nil if the text is empty.
  private mutating func add(
    _ kind: ManifestReference.Kind, _ text: String, at range: Range<Int>
  ) -> Int? {
    guard !text.isEmpty else { return nil }
    found.references.append(
      DASHReference(
        reference: ManifestReference(kind: kind, range: range, text: text)))
    return found.references.count - 1
  }

  private mutating func addText(of index: Int, _ base: DASHBase) {
    let kind = tree.elements[index].kind
    guard kind == .baseURL || kind == .location, let (text, range) = text(of: index),
      let added = add(kind == .baseURL ? .base : .location, text, at: range)
    else { return }
    resolve(added, base)
  }

  /// Returns the text of an element without elements in it.
  private func text(of index: Int) -> (text: String, range: Range<Int>)? {
    tree.elements[index].end == index + 1 ? tree.text(of: index) : nil
  }

  /// - Returns: the indices of the references in a description of segments. They have the bases of
  ///   the Representations in the level.
  private mutating func addAttributes(of index: Int, _ base: DASHBase) -> [Int] {
    let element = tree.elements[index].kind
    let (names, kind) = Self.attributes(of: element)
    var segments: [Int] = []
    for attribute in tree.attributes(of: index) {
      let isLink = tree.link(in: attribute) == .elsewhere
      guard isLink || names.contains(where: { tree.has($0, in: attribute) }),
        let text = tree.value(of: attribute),
        let added = add(isLink ? .location : kind, text, at: tree.range(of: attribute))
      else { continue }
      if isLink || element == .initializationSet {
        resolve(added, base)
      } else {
        segments.append(added)
      }
    }
    return segments
  }

  /// Returns the names of an element's attributes that are references, and their kind.
  private static func attributes(
    of element: DASHElement
  ) -> (names: [StaticString], ManifestReference.Kind) {
    switch element {
    case .segmentTemplate: (["media", "index", "initialization", "bitstreamSwitching"], .template)
    case .segmentURL: (["media", "index"], .segment)
    case .initialization, .segmentIndex, .bitstreamSwitching: (["sourceURL"], .initialization)
    case .initializationSet: (["initialization"], .initialization)
    default: ([], .initialization)
    }
  }

  /// Adds the values that clients put in place of identifiers in templates, or compute such values
  /// with.
  private mutating func addValues(of index: Int) {
    let names: [StaticString] =
      switch tree.elements[index].kind {
      case .representation: ["id", "bandwidth"]
      case .segmentTemplate, .segmentList: ["startNumber", "endNumber"]
      case .run: ["t", "n", "d"]
      default: []
      }
    for attribute in tree.attributes(of: index) {
      // There may be 100,000s of numbers.
      guard names.contains(where: { tree.has($0, in: attribute) }), !tree.isNumber(attribute),
        let text = tree.value(of: attribute),
        let replacement = DASHTemplate.replacement(for: text)
      else { continue }
      found.values.append((tree.range(of: attribute), replacement))
    }
  }
}
