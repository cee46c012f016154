// SPDX-License-Identifier: MIT
package import Foundation

/// The segments that an MPD names at a time. A live one names the latest, and gives up those before.
extension DASHPresentation {
  package struct Window: Sendable {
    package struct Segment: Sendable {
      package var url: URL
      /// When it plays, in seconds since the first one of the window does; approximate.
      package var time: Double
    }

    package var segments: [Segment] = []
    /// Initializations and indices.
    package var others: [URL] = []
    /// The duration of the longest segment, in seconds.
    package var longestSegment = 0.0
    /// Whether the segments of every Representation are known, without gaps.
    package var isWhole = true
    /// After how many seconds an unchanged MPD names other segments; nil if it never does.
    package var pace: Double?
  }

  /// Returns the window of all Representations. References that are neither http nor https are
  /// missing.
  ///
  /// A timeline or a list states its segments. A template with a duration stands for those that the
  /// origin keeps at the time (§A.3.4): the time-shift buffer, and two segments beyond it at either
  /// end, because clocks differ.
  ///
  /// - Parameters:
  ///   - time: in seconds since 1970.
  ///   - count: the most segments.
  /// - Throws: `DASHProblem`, if there are more.
  package func window(at time: Double, atMost count: Int64) throws(DASHProblem) -> Window {
    var allowance = Allowance(segments: count)
    var window = Window()
    var begin = 0.0
    for period in periods {
      let elapsed = availabilityStart.flatMap { start in period.start.map { time - start - $0 } }
      var end = begin
      for representation in period.sets.flatMap(\.representations) {
        do throws(DASHProblem) {
          let named = try named(representation, period, elapsed: elapsed, &allowance)
          end = max(end, window.append(named.references, of: representation, from: begin))
          window.pace = [window.pace, named.pace].compactMap(\.self).min()
        } catch {
          guard error != .isTooLarge else { throw error }
          window.isWhole = false
        }
      }
      begin = end
    }
    return window
  }

  /// - Parameter elapsed: the time since the period began, in seconds; nil if unknown.
  private func named(
    _ representation: Representation, _ period: Period, elapsed: Double?,
    _ allowance: inout Allowance
  ) throws(DASHProblem) -> (references: [Reference], pace: Double?) {
    guard isDynamic, let segments = representation.segments, segments.problem == nil,
      segments.form == .template
    else { return (try representation.references(duration: period.duration, &allowance), nil) }
    guard segments.timeline == nil, let units = segments.duration else {
      let duration = period.duration ?? elapsed
      return (try representation.references(duration: duration, &allowance), nil)
    }
    guard let elapsed, let depth = timeShiftDepth else { throw Self.isOpen }
    let seconds = Double(units) / Double(segments.timescale ?? 1)
    let first = max(0, ((elapsed - depth) / seconds).rounded(.down) - 2)
    let last = (min(elapsed, period.duration ?? .infinity) / seconds).rounded(.down) + 2
    guard first < Self.mostSegments, last < Self.mostSegments else { throw Self.isOpen }
    guard first <= last else { return ([], seconds) }
    var part = representation
    let start = segments.startNumber ?? 1
    part.segments?.startNumber = start.addingSaturated(Int64(first))
    part.segments?.endNumber = min(
      segments.endNumber ?? .max, start.addingSaturated(Int64(last)))
    return (try part.references(duration: nil, &allowance), seconds)
  }

  private static let mostSegments: Double = 1e15

  private static let isOpen = DASHProblem(
    reason: "its manifest does not state how long its segments last.")
}

extension DASHPresentation.Window {
  private static let longestTime = Double(CacheControl.longest)

  /// - Returns: when the last reference ends.
  fileprivate mutating func append(
    _ references: [DASHPresentation.Reference], of representation: DASHPresentation.Representation,
    from start: Double
  ) -> Double {
    guard let base = representation.base else {
      isWhole = false
      return start
    }
    var time = start
    for reference in references {
      guard let url = URL(text: reference.text, relativeTo: base),
        WebURL(url.absoluteString) != nil
      else { continue }
      guard reference.seconds > 0 else {
        others.append(url)
        continue
      }
      segments.append(Segment(url: url, time: time))
      let seconds = min(reference.seconds, Self.longestTime)
      longestSegment = max(longestSegment, seconds)
      time += seconds
    }
    return time
  }
}
