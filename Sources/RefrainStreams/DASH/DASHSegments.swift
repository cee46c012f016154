// SPDX-License-Identifier: MIT
import Refrain

/// A description of segments: a SegmentTemplate, a SegmentList or a SegmentBase, with what it
/// inherits from the levels above (ISO/IEC 23009-1 §5.3.9). A pure value.
struct DASHSegments: Sendable {
  /// A reference to an initialization, an index or a segment.
  struct Reference: Sendable {
    /// Relative to `Representation.base`; empty for the base itself.
    var text: String
    var range: ByteRange?
    /// 0 for all but segments.
    var seconds = 0.0
    /// Whether the origin may not have it: only a duration says that there is a last segment, and
    /// durations are rounded. Players take its absence for the end.
    var mayBeAbsent = false
  }

  /// A SegmentURL.
  struct Item: Sendable {
    var media: Reference
    /// Nil if there is none, or it lies in the segment.
    var index: Reference?
  }

  /// Consecutive segments of one duration (§5.3.9.6).
  struct Run: Sendable {
    var time: Int64?
    var duration: Int64
    /// The number of further segments; negative: up to the next run, or the end of the period.
    var repeats: Int64
    /// The number of the first segment.
    var number: Int64?
  }

  let form: DASHElement
  /// Units in a second.
  private(set) var timescale: Int64 = 1
  private(set) var duration: Int64?
  private(set) var startNumber: Int64 = 1
  private(set) var endNumber: Int64?
  /// The time at which the period begins, in units.
  private(set) var offset: Int64 = 0
  private(set) var timeline: [Run]?
  private(set) var initialization: Reference?
  private(set) var index: Reference?
  /// Where the index lies in the base, if that is the only segment (`SegmentBase@indexRange`).
  private(set) var indexRange: ByteRange?
  /// Templates of URLs.
  private(set) var mediaTemplate: String?
  private(set) var indexTemplate: String?
  private(set) var initializationTemplate: String?
  private(set) var items: [Item] = []
  /// Why the segments are not known.
  private(set) var problem: DASHProblem?

  /// Nil if an element has no description of segments.
  ///
  /// - Parameter outer: the description of the level above, from which one of the same form inherits.
  init?(in parent: Int, of tree: DASHTree, below outer: DASHSegments?) throws(DASHProblem) {
    let own = tree.children(of: parent).first { tree.elements[$0].kind.describesSegments }
    guard let own, tree.link(of: own) != .removes else { return nil }
    guard tree.link(of: own) == nil else { throw .isRemote }
    let form = tree.elements[own].kind
    if let outer, outer.form == form { self = outer } else { self.form = form }
    do throws(DASHProblem) {
      try read(own, of: tree)
    } catch {
      problem = error
    }
  }

  private mutating func read(_ own: Int, of tree: DASHTree) throws(DASHProblem) {
    timescale = try tree.integer("timescale", of: own, from: 1) ?? timescale
    duration = try tree.integer("duration", of: own, from: 1) ?? duration
    startNumber = try tree.integer("startNumber", of: own) ?? startNumber
    endNumber = try tree.integer("endNumber", of: own) ?? endNumber
    offset = try tree.integer("presentationTimeOffset", of: own) ?? offset
    mediaTemplate = tree.attribute("media", of: own) ?? mediaTemplate
    indexTemplate = tree.attribute("index", of: own) ?? indexTemplate
    initializationTemplate = tree.attribute("initialization", of: own) ?? initializationTemplate
    if let child = tree.firstChild(of: own, .segmentTimeline) {
      timeline = try tree.runs(of: child)
    }
    if let child = tree.firstChild(of: own, .initialization) {
      initialization = try tree.reference(child, "sourceURL", "range")
    }
    if let child = tree.firstChild(of: own, .segmentIndex) {
      index = try tree.reference(child, "sourceURL", "range")
    }
    indexRange = try tree.byteRange("indexRange", of: own) ?? indexRange
    let items = try tree.children(of: own, .segmentURL).map(tree.item)
    if !items.isEmpty { self.items = items }
  }
}

extension DASHTree {
  fileprivate func runs(of timeline: Int) throws(DASHProblem) -> [DASHSegments.Run] {
    guard link(of: timeline) != .elsewhere else { throw .isRemote }
    let runs = children(of: timeline).filter { [.run, .pattern].contains(elements[$0].kind) }
    return try runs.map { child throws(DASHProblem) in
      guard elements[child].kind == .run, attribute("k", of: child) ?? "1" == "1",
        attribute("p", of: child) == nil
      else { throw DASHProblem(reason: "its segments follow patterns.") }
      guard let duration = try integer("d", of: child, from: 1) else { throw .isInvalid("d") }
      let repeats = attribute("r", of: child) ?? "0"
      guard let repeats = repeats.hasPrefix("-") ? -1 : Int64(digits: repeats) else {
        throw .isInvalid("r")
      }
      return .init(
        time: try integer("t", of: child), duration: duration, repeats: repeats,
        number: try integer("n", of: child))
    }
  }

  fileprivate func item(_ element: Int) throws(DASHProblem) -> DASHSegments.Item {
    let media = try reference(element, "media", "mediaRange")
    var index = try reference(element, "index", "indexRange")
    // Without a range of its own, the segment contains the index.
    let isApart = !index.text.isEmpty || (index.range != nil && media.range != nil)
    if index.text.isEmpty { index.text = media.text }
    return .init(media: media, index: isApart ? index : nil)
  }

  fileprivate func reference(
    _ element: Int, _ text: StaticString, _ range: StaticString
  ) throws(DASHProblem) -> DASHSegments.Reference {
    .init(text: attribute(text, of: element) ?? "", range: try byteRange(range, of: element))
  }

  /// Returns the range of `0-499`; nil if the attribute is missing.
  fileprivate func byteRange(
    _ name: StaticString, of element: Int
  ) throws(DASHProblem) -> ByteRange? {
    guard let text = attribute(name, of: element) else { return nil }
    let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]),
      first <= last, last < .max - 1
    else { throw .isInvalid(name) }
    return first..<(last + 1)
  }

  /// Returns the value of an attribute that is no less than `least`; nil if it is missing.
  fileprivate func integer(
    _ name: StaticString, of element: Int, from least: Int64 = 0
  ) throws(DASHProblem) -> Int64? {
    guard let text = attribute(name, of: element) else { return nil }
    guard let value = Int64(digits: text), value >= least else { throw .isInvalid(name) }
    return value
  }
}

extension DASHProblem {
  fileprivate static func isInvalid(_ name: StaticString) -> DASHProblem {
    DASHProblem(reason: "its manifest has an invalid '\(name)'.")
  }
}
