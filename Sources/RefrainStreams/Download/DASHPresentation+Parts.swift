// SPDX-License-Identifier: MIT
import Foundation
import Refrain

extension DASHPresentation {
  /// What remains of the work and memory that one MPD may cost: a few bytes describe any number of
  /// segments.
  package struct Allowance: Sendable {
    private var segments: Int64
    private var bytes = 64 << 20

    package init(segments: Int64 = 200_000) { self.segments = segments }

    fileprivate mutating func take(segments count: Int64) throws(DASHProblem) {
      guard count <= segments else { throw .isTooLarge }
      segments -= count
    }

    fileprivate mutating func take(_ text: String) throws(DASHProblem) {
      bytes -= text.utf8.count
      guard bytes >= 0 else { throw .isTooLarge }
    }
  }
}

/// Counts segments.
extension DASHPresentation.Representation {
  private typealias Reference = DASHSegments.Reference

  /// A segment by its number and time.
  private struct Timing {
    var number: Int64
    var time: Int64?
    var seconds = 0.0
    var mayBeAbsent = false
  }

  /// Returns the references in the order of playing.
  ///
  /// - Parameter duration: of the period, in seconds; nil if unknown.
  func references(
    duration: Double?, _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) -> [DASHSegments.Reference] {
    guard let segments else { return [try file(duration)] }
    if let problem = segments.problem { throw problem }
    switch segments.form {
    case .segmentTemplate: return try templates(segments, duration, &allowance)
    case .segmentList: return try list(segments, duration, &allowance)
    default:
      // The base contains the initialization and the index, unless they have URLs.
      let others = [segments.initialization, segments.index].compactMap(\.self)
      return try others.filter { !$0.text.isEmpty } + [file(duration)]
    }
  }

  private func file(_ duration: Double?) throws(DASHProblem) -> Reference {
    guard hasBase, base?.hasDirectoryPath == false else { throw .namesNoSegments }
    return Reference(text: "", seconds: duration ?? 0)
  }

  private func templates(
    _ segments: DASHSegments, _ duration: Double?, _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) -> [Reference] {
    guard let template = segments.mediaTemplate else { throw .namesNoSegments }
    let media = try DASHTemplate(template)
    let index = try segments.indexTemplate.map(DASHTemplate.init)
    func reference(_ template: DASHTemplate, _ timing: Timing) throws(DASHProblem) -> Reference {
      let text = try template.text(
        .init(id: id, bandwidth: bandwidth, number: timing.number, time: timing.time))
      try allowance.take(text)
      return Reference(text: text, seconds: timing.seconds, mayBeAbsent: timing.mayBeAbsent)
    }
    let timings = try timings(segments, duration, &allowance)
    let all = Timing(number: segments.startNumber, time: 0)
    var references: [Reference] = []
    if let text = segments.initializationTemplate {
      references.append(try reference(DASHTemplate(text), all))
    } else if let initialization = segments.initialization {
      references.append(initialization)
    }
    if let index, !index.isOfSegments { references.append(try reference(index, all)) }
    for timing in timings {
      if let index, index.isOfSegments {
        var reference = try reference(index, timing)
        reference.seconds = 0
        references.append(reference)
      }
      references.append(try reference(media, timing))
    }
    return references
  }

  private func list(
    _ segments: DASHSegments, _ duration: Double?, _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) -> [Reference] {
    let items = segments.items
    guard !items.isEmpty, hasBase || items.allSatisfy({ !$0.media.text.isEmpty }) else {
      throw .namesNoSegments
    }
    try allowance.take(segments: Int64(items.count))
    let timed = segments.timeline == nil ? [] : try timings(segments, duration, &allowance)
    let seconds = segments.seconds ?? (duration ?? 0) / Double(items.count)
    var references = [segments.initialization, segments.index].compactMap(\.self)
    for (position, var item) in items.enumerated() {
      let rest = duration.map { max(0, $0 - Double(position) * seconds) } ?? seconds
      item.media.seconds = position < timed.count ? timed[position].seconds : min(seconds, rest)
      for reference in [item.index, item.media].compactMap(\.self) {
        try allowance.take(reference.text)
        references.append(reference)
      }
    }
    return references
  }

  // MARK: Times

  private func timings(
    _ segments: DASHSegments, _ duration: Double?, _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) -> [Timing] {
    if let runs = segments.timeline { return try timings(runs, segments, duration, &allowance) }
    // Neither a duration nor a timeline: there is one segment (§5.3.9.5.3).
    guard let seconds = segments.seconds else {
      try allowance.take(segments: 1)
      return [Timing(number: segments.startNumber, seconds: duration ?? 0)]
    }
    let stated = segments.endNumber.map { max(0, $0 - segments.startNumber + 1) }
    let counted = duration.map { Self.count(of: $0 / seconds) }
    guard let count = [stated, counted].compactMap(\.self).min() else { throw .isEndless }
    try allowance.take(segments: count)
    return (0..<count).map { index in
      let rest = duration.map { max(0, $0 - Double(index) * seconds) } ?? seconds
      return Timing(
        number: segments.startNumber &+ index, seconds: min(seconds, rest),
        mayBeAbsent: stated == nil && index > 0 && index == count - 1)
    }
  }

  /// Follows a timeline (§5.3.9.6).
  private func timings(
    _ runs: [DASHSegments.Run], _ segments: DASHSegments, _ duration: Double?,
    _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) -> [Timing] {
    let scale = Double(segments.timescale)
    let periodEnd = duration.map { $0 * scale + Double(segments.offset) }
    let ends = runs.dropFirst().map { $0.time.map(Double.init) } + [periodEnd]
    var timings: [Timing] = []
    var (number, time) = (segments.startNumber, Int64(0))
    for (run, end) in zip(runs, ends) {
      time = run.time ?? time
      number = run.number ?? number
      var count = run.repeats.addingSaturated(1)
      if run.repeats < 0 {
        guard let end else { throw .isEndless }
        count = Self.count(of: (end - Double(time)) / Double(run.duration))
      }
      if let last = segments.endNumber { count = min(count, max(0, last - number + 1)) }
      // A run without segments takes time too.
      try allowance.take(segments: max(1, count))
      for _ in 0..<count {
        timings.append(
          Timing(number: number, time: time, seconds: Double(run.duration) / scale))
        number = number.addingSaturated(1)
        time = time.addingSaturated(run.duration)
      }
    }
    return timings
  }

  /// Returns the number of segments that begin within a length, given in segments. A rounding
  /// error is no segment.
  private static func count(of length: Double) -> Int64 {
    guard length > 0 else { return 0 }
    return Int64(min((length - 0.000_1).rounded(.up), 1e18))
  }

  // MARK: Parts

  /// Where the index of the segments lies, if they are ranges of one file, which the MPD does not
  /// list; nil if it lists the segments, or does not say where the index lies.
  package var indexPart: StreamPlan.Part? {
    guard let segments, segments.form == .segmentBase, segments.index == nil, hasBase, let base,
      let range = segments.indexRange, range.count <= Manifest.longest
    else { return nil }
    return StreamPlan.Part(url: base, range: range)
  }

  /// Returns the segments in the order of playing. What one needs (an initialization, an index)
  /// stands before it, and plays for no time; what stands before the first one, all need.
  ///
  /// References that are neither http nor https are missing, as in a `StreamPlan`.
  ///
  /// - Parameters:
  ///   - duration: of the period, in seconds; nil if unknown.
  ///   - index: the content of `indexPart`; nil if it is not known: the file counts as one segment.
  /// - Throws: `DASHProblem`, if the segments are not known, or too many.
  package func timedParts(
    duration: Double?, index: SegmentIndex? = nil, _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) -> [StreamPlan.Part] {
    guard let base else { throw .hasLongURLs }
    // Sums of what an MPD states must not overflow.
    let longest = Double(CacheControl.longest)
    var parts: [StreamPlan.Part] = []
    for reference in try references(duration: duration, &allowance) {
      guard let url = URL(text: reference.text, relativeTo: base),
        WebURL(url.absoluteString) != nil
      else { continue }
      let seconds = min(reference.seconds, longest)
      parts.append(StreamPlan.Part(url: url, range: reference.range, seconds: seconds))
    }
    guard let index, let header = indexPart?.range, let file = parts.popLast() else { return parts }
    // The initialization stands before the index.
    parts.append(StreamPlan.Part(url: file.url, range: 0..<header.upperBound))
    return parts
      + index.segments.map {
        StreamPlan.Part(url: file.url, range: $0.range, seconds: min($0.seconds, longest))
      }
  }
}

extension DASHSegments {
  /// The duration of a segment, in seconds; nil if it is not stated.
  fileprivate var seconds: Double? { duration.map { Double($0) / Double(timescale) } }
}

extension DASHProblem {
  fileprivate static let isEndless = DASHProblem(
    reason: "its manifest does not state how long it is.")
}
