// SPDX-License-Identifier: MIT
import Foundation

/// Counts segments.
extension DASHPresentation {
  /// What remains of the work and memory that one MPD may cost: a few bytes describe any number of
  /// segments.
  package struct Allowance: Sendable {
    fileprivate var segments: Int64
    fileprivate var bytes = 64 << 20

    package init(segments: Int64 = 200_000) { self.segments = segments }

    fileprivate mutating func take(segments count: Int64) throws(DASHProblem) {
      guard count <= segments else { throw .isTooLarge }
      segments -= count
    }

    fileprivate mutating func take(_ text: String?) throws(DASHProblem) {
      bytes -= text?.utf8.count ?? 0
      guard bytes >= 0 else { throw .isTooLarge }
    }
  }

  /// A reference to an initialization, an index or a segment.
  struct Reference: Sendable, Hashable {
    /// Relative to `Representation.base`; empty for the base itself.
    var text: String
    var range: ByteRange?
    /// 0 for all but segments.
    var seconds: Double
    /// Whether the origin may not have it: only a duration says that there is a last segment, and
    /// durations are rounded. Players take its absence for the end.
    var mayBeAbsent = false
  }
}

extension DASHPresentation.Representation {
  private typealias Reference = DASHPresentation.Reference

  /// A segment by its number and time.
  fileprivate struct Timing {
    var number: Int64
    var time: Int64?
    var seconds: Double
    /// See `DASHPresentation.Reference`.
    var mayBeAbsent = false
  }

  /// Returns the references in the order of playing.
  ///
  /// - Parameter duration: of the period, in seconds; nil if unknown.
  func references(
    duration: Double?, _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) -> [DASHPresentation.Reference] {
    guard let segments else { return [try file(duration)] }
    if let problem = segments.problem { throw problem }
    switch segments.form {
    case .template: return try templates(segments, duration, &allowance)
    case .list: return try list(segments, duration, &allowance)
    case .file:
      // The base contains the initialization and the index, unless they have URLs.
      let others = [segments.initialization, segments.index].compactMap { $0 }
        .filter { $0.text != nil }
      return try others.map(Self.reference) + [file(duration)]
    }
  }

  private func file(_ duration: Double?) throws(DASHProblem) -> Reference {
    guard hasBase, base?.hasDirectoryPath == false else {
      throw DASHProblem(reason: "its manifest names no segments.")
    }
    return Reference(text: "", range: nil, seconds: duration ?? 0)
  }

  private static func reference(_ source: DASHSegments.Reference) -> Reference {
    Reference(text: source.text ?? "", range: source.range, seconds: 0)
  }

  // MARK: Templates

  private func templates(
    _ segments: DASHSegments, _ duration: Double?, _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) -> [Reference] {
    guard let template = segments.mediaTemplate else {
      throw DASHProblem(reason: "its manifest names no segments.")
    }
    let media = try DASHTemplate(template)
    let index = try segments.indexTemplate.map(DASHTemplate.init)
    var references: [Reference] = []
    func values(_ timing: Timing) -> DASHTemplate.Values {
      .init(id: id, bandwidth: bandwidth, number: timing.number, time: timing.time)
    }
    let timings = try timings(segments, duration, &allowance)
    let first = Timing(number: segments.startNumber ?? 1, time: 0, seconds: 0)
    if let text = segments.initializationTemplate {
      let text = try DASHTemplate(text).text(values(first))
      references.append(Reference(text: text, range: nil, seconds: 0))
    } else if let initialization = segments.initialization {
      references.append(Self.reference(initialization))
    }
    if let index, !index.isOfSegments {
      references.append(Reference(text: try index.text(values(first)), range: nil, seconds: 0))
    }
    for timing in timings {
      if let index, index.isOfSegments {
        let text = try index.text(values(timing))
        try allowance.take(text)
        references.append(
          Reference(text: text, range: nil, seconds: 0, mayBeAbsent: timing.mayBeAbsent))
      }
      let text = try media.text(values(timing))
      try allowance.take(text)
      references.append(
        Reference(
          text: text, range: nil, seconds: timing.seconds, mayBeAbsent: timing.mayBeAbsent))
    }
    return references
  }

  private func timings(
    _ segments: DASHSegments, _ duration: Double?, _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) -> [Timing] {
    let start = segments.startNumber ?? 1
    if let runs = segments.timeline {
      return try timings(runs, segments, duration, &allowance)
    }
    // Neither a duration nor a timeline: there is one segment (§5.3.9.5.3).
    guard let units = segments.duration else {
      try allowance.take(segments: 1)
      return [Timing(number: start, time: nil, seconds: duration ?? 0)]
    }
    let seconds = Double(units) / Double(segments.timescale ?? 1)
    let stated = segments.endNumber.map { max(0, $0 - start + 1) }
    let counted = duration.map { Self.count(of: $0 / seconds) }
    guard let count = [stated, counted].compactMap(\.self).min() else { throw Self.isEndless }
    try allowance.take(segments: count)
    return (0..<count).map { index in
      let rest = duration.map { max(0, $0 - Double(index) * seconds) } ?? seconds
      return Timing(
        number: start &+ index, time: nil, seconds: min(seconds, rest),
        mayBeAbsent: stated == nil && index > 0 && index == count - 1)
    }
  }

  /// Follows a timeline (§5.3.9.6).
  private func timings(
    _ runs: [DASHSegments.Run], _ segments: DASHSegments, _ duration: Double?,
    _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) -> [Timing] {
    let scale = Double(segments.timescale ?? 1)
    var timings: [Timing] = []
    var (number, time) = (segments.startNumber ?? 1, Int64(0))
    for (position, run) in runs.enumerated() {
      time = run.time ?? time
      number = run.number ?? number
      let next = position + 1 < runs.count ? runs[position + 1].time : nil
      let isLast = position + 1 == runs.count
      let end: Double? =
        next.map(Double.init)
        ?? (isLast ? duration.map { $0 * scale + Double(segments.offset ?? 0) } : nil)
      var count: Int64
      if run.repeats >= 0 {
        count = run.repeats.addingSaturated(1)
      } else if let end {
        count = Self.count(of: (end - Double(time)) / Double(run.duration))
      } else {
        throw Self.isEndless
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

  private static let isEndless = DASHProblem(
    reason: "its manifest does not state how long it is.")

  // MARK: Lists

  private func list(
    _ segments: DASHSegments, _ duration: Double?, _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) -> [Reference] {
    let items = segments.items ?? []
    guard !items.isEmpty else { throw DASHProblem(reason: "its manifest names no segments.") }
    try allowance.take(segments: Int64(items.count))
    var timed: [Timing] = []
    if let runs = segments.timeline { timed = try timings(runs, segments, duration, &allowance) }
    let seconds =
      segments.duration.map { Double($0) / Double(segments.timescale ?? 1) }
      ?? (duration ?? 0) / Double(items.count)
    var references = segments.initialization.map { [Self.reference($0)] } ?? []
    references += segments.index.map { [Self.reference($0)] } ?? []
    for (position, item) in items.enumerated() {
      guard item.media.text != nil || hasBase else {
        throw DASHProblem(reason: "its manifest names no segments.")
      }
      for text in [item.media.text, item.index?.text] { try allowance.take(text) }
      if let index = item.index { references.append(Self.reference(index)) }
      var media = Self.reference(item.media)
      let rest = duration.map { max(0, $0 - Double(position) * seconds) } ?? seconds
      media.seconds = position < timed.count ? timed[position].seconds : min(seconds, rest)
      references.append(media)
    }
    return references
  }
}
