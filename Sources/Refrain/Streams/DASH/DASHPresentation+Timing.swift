// SPDX-License-Identifier: MIT
import Foundation

/// The times of segments.
extension DASHPresentation.Representation {
  /// Where the index of the segments lies, if they are ranges of one file, which the MPD does not
  /// list; nil if it lists the segments, or does not say where the index lies.
  package var indexPart: StreamPlan.Part? {
    guard let segments, segments.form == .file, segments.index == nil, hasBase, let base,
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
    guard let base else { throw DASHProblem(reason: "the URLs of its segments are too long.") }
    var parts: [StreamPlan.Part] = []
    for reference in try references(duration: duration, &allowance) {
      guard let url = URL(text: reference.text, relativeTo: base),
        WebURL(url.absoluteString) != nil
      else { continue }
      parts.append(
        StreamPlan.Part(
          url: url, range: reference.range, seconds: min(reference.seconds, Self.longest)))
    }
    guard let index, let header = indexPart?.range, let file = parts.popLast() else { return parts }
    // The initialization stands before the index.
    parts.append(StreamPlan.Part(url: file.url, range: 0..<header.upperBound))
    return parts
      + index.segments.map {
        StreamPlan.Part(
          url: file.url, range: $0.range, seconds: min($0.seconds, Self.longest))
      }
  }

  /// In seconds. Sums of what an MPD states must not overflow.
  private static let longest = Double(CacheControl.longest)
}
