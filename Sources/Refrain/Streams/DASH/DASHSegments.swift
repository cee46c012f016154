// SPDX-License-Identifier: MIT

/// A description of segments: a SegmentTemplate, a SegmentList or a SegmentBase, with what it
/// inherits from the levels above (ISO/IEC 23009-1 §5.3.9). A pure value.
struct DASHSegments: Sendable {
  enum Form: Sendable {
    case template
    case list
    case file
  }

  /// A resource, or a range of one.
  struct Reference: Sendable {
    /// Nil: the base.
    var text: String?
    var range: ByteRange?
  }

  /// A SegmentURL.
  struct Item: Sendable {
    var media: Reference
    /// Nil if there is none, or it lies in the segment.
    var index: Reference?
  }

  /// Consecutive segments of one duration (§5.3.9.6).
  struct Run: Sendable, Hashable {
    var time: Int64?
    var duration: Int64
    /// The number of further segments; negative: up to the next run, or the end of the period.
    var repeats: Int64
    /// The number of the first segment.
    var number: Int64?
  }

  var form: Form
  /// Units in a second.
  var timescale: Int64?
  var duration: Int64?
  var startNumber: Int64?
  var endNumber: Int64?
  /// The time at which the period begins, in units.
  var offset: Int64?
  var timeline: [Run]?
  var initialization: Reference?
  var index: Reference?
  /// Where the index lies in the base, if that is the only segment (`SegmentBase@indexRange`).
  var indexRange: ByteRange?
  /// Templates of URLs.
  var mediaTemplate: String?
  var indexTemplate: String?
  var initializationTemplate: String?
  var items: [Item]?
  /// Why the segments are not known.
  var problem: DASHProblem?

  /// Returns the description with what it does not state itself from that of the level above.
  func inheriting(from outer: DASHSegments?) -> DASHSegments {
    guard let outer, outer.form == form else { return self }
    var all = self
    all.timescale = timescale ?? outer.timescale
    all.duration = duration ?? outer.duration
    all.startNumber = startNumber ?? outer.startNumber
    all.endNumber = endNumber ?? outer.endNumber
    all.offset = offset ?? outer.offset
    all.timeline = timeline ?? outer.timeline
    all.initialization = initialization ?? outer.initialization
    all.index = index ?? outer.index
    all.indexRange = indexRange ?? outer.indexRange
    all.mediaTemplate = mediaTemplate ?? outer.mediaTemplate
    all.indexTemplate = indexTemplate ?? outer.indexTemplate
    all.initializationTemplate = initializationTemplate ?? outer.initializationTemplate
    all.items = items ?? outer.items
    all.problem = problem ?? outer.problem
    return all
  }
}

/// Reads descriptions of segments.
extension DASHDocument {
  /// Returns the description among the children of an element; nil if it has none.
  func segments(of index: Int) throws(DASHProblem) -> DASHSegments? {
    guard let own = children(of: index).first(where: { elements[$0].kind.namesSegments }) else {
      return nil
    }
    if let link = link(of: own) {
      if link == .removes { return nil }
      throw .isRemote
    }
    let form: DASHSegments.Form =
      switch elements[own].kind {
      case .segmentTemplate: .template
      case .segmentList: .list
      default: .file
      }
    var segments = DASHSegments(form: form)
    do throws(DASHProblem) {
      try read(own, into: &segments)
    } catch {
      segments.problem = error
    }
    return segments
  }

  private func read(_ index: Int, into segments: inout DASHSegments) throws(DASHProblem) {
    segments.timescale = try integer("timescale", of: index)
    guard segments.timescale != 0 else { throw Self.wrong("timescale") }
    segments.duration = try integer("duration", of: index)
    guard segments.duration != 0 else { throw Self.wrong("duration") }
    segments.startNumber = try integer("startNumber", of: index)
    segments.endNumber = try integer("endNumber", of: index)
    segments.offset = try integer("presentationTimeOffset", of: index)
    segments.mediaTemplate = attribute("media", of: index)
    segments.indexTemplate = attribute("index", of: index)
    segments.initializationTemplate = attribute("initialization", of: index)
    if let timeline = firstChild(of: index, .segmentTimeline) {
      segments.timeline = try runs(of: timeline)
    }
    segments.initialization = try firstChild(of: index, .initialization).map(source)
    segments.index = try firstChild(of: index, .segmentIndex).map(source)
    segments.indexRange = try range("indexRange", of: index)
    let items = children(of: index, .segmentURL)
    if !items.isEmpty { segments.items = try items.map(item) }
  }

  private func runs(of timeline: Int) throws(DASHProblem) -> [DASHSegments.Run] {
    if let link = link(of: timeline), link == .elsewhere { throw .isRemote }
    var runs: [DASHSegments.Run] = []
    for child in children(of: timeline) {
      guard elements[child].kind == .run, attribute("k", of: child) ?? "1" == "1",
        attribute("p", of: child) == nil
      else { throw DASHProblem(reason: "its segments follow patterns.") }
      guard let duration = try integer("d", of: child), duration > 0 else { throw Self.wrong("d") }
      let repeats = attribute("r", of: child) ?? "0"
      let count = repeats.hasPrefix("-") ? -1 : Int64(digits: repeats)
      guard let count else { throw Self.wrong("r") }
      runs.append(
        .init(
          time: try integer("t", of: child), duration: duration, repeats: count,
          number: try integer("n", of: child)))
    }
    return runs
  }

  private func item(_ index: Int) throws(DASHProblem) -> DASHSegments.Item {
    let media = DASHSegments.Reference(
      text: attribute("media", of: index), range: try range("mediaRange", of: index))
    let range = try range("indexRange", of: index)
    let text = attribute("index", of: index)
    // Without a range of its own, the segment contains the index.
    let isApart = text != nil || (range != nil && media.range != nil)
    let index = DASHSegments.Reference(text: text ?? media.text, range: range)
    return .init(media: media, index: isApart ? index : nil)
  }

  /// Reads an Initialization or a RepresentationIndex.
  private func source(_ index: Int) throws(DASHProblem) -> DASHSegments.Reference {
    .init(text: attribute("sourceURL", of: index), range: try range("range", of: index))
  }

  private func range(_ name: StaticString, of index: Int) throws(DASHProblem) -> ByteRange? {
    guard let text = attribute(name, of: index) else { return nil }
    guard let range = DASHNumbers.byteRange(text) else { throw Self.wrong(name) }
    return range
  }

  /// Returns the value of an attribute that is no negative number; nil if it is missing.
  func integer(_ name: StaticString, of index: Int) throws(DASHProblem) -> Int64? {
    guard let text = attribute(name, of: index) else { return nil }
    guard let value = Int64(digits: text) else { throw Self.wrong(name) }
    return value
  }

  private static func wrong(_ name: StaticString) -> DASHProblem {
    DASHProblem(reason: "its manifest has an invalid '\(name)'.")
  }
}
