// SPDX-License-Identifier: MIT

/// What exists when.
extension LiveStream {
  /// How far the stream is: the number of whole segments, and of the parts that follow them.
  public struct Extent: Sendable, Hashable, Comparable {
    public var segments: Int
    public var parts = 0

    public init(segments: Int, parts: Int = 0) {
      self.segments = segments
      self.parts = parts
    }

    public static func < (left: Extent, right: Extent) -> Bool {
      (left.segments, left.parts) < (right.segments, right.parts)
    }
  }

  /// Returns how far the stream is at a time.
  public func extent(at time: Duration) -> Extent {
    var (low, high) = (0, segments.count)
    while low < high {
      let middle = (low + high) / 2
      if completion(of: middle) <= time { low = middle + 1 } else { high = middle }
    }
    guard low < segments.count else { return Extent(segments: low) }
    let parts = (0..<partCount(of: low)).prefix { completion(of: low, part: $0) <= time }
    return Extent(segments: low, parts: parts.count)
  }

  /// Returns when a segment, or a part of it, is complete: negative if that is before time zero.
  public func completion(of segment: Int, part: Int? = nil) -> Duration {
    let lead = ends[min(max(segmentsAtStart, 1), segments.count) - 1]
    guard let part, let lowLatency else { return ends[segment] - lead }
    let start = ends[segment] - segments[segment].duration
    let length = min(lowLatency.partTarget * (part + 1), segments[segment].duration)
    return start + length - lead
  }

  /// Returns the number of parts of a segment; 0 without parts.
  public func partCount(of segment: Int) -> Int {
    guard let lowLatency else { return 0 }
    let given = segments[segment].partEnds.count
    guard given == 0 else { return given }
    let count = segments[segment].duration / lowLatency.partTarget
    return max(1, Int((count - 0.000_001).rounded(.up)))
  }

  /// Returns the duration of a part.
  func duration(of segment: Int, part: Int) -> Duration {
    guard let lowLatency else { return segments[segment].duration }
    let before = lowLatency.partTarget * part
    return min(lowLatency.partTarget, segments[segment].duration - before)
  }

  /// Returns the bytes of a part in its segment.
  public func range(of segment: Int, part: Int) -> Range<Int> {
    let ends = segments[segment].partEnds
    guard ends.isEmpty else { return (part == 0 ? 0 : ends[part - 1])..<ends[part] }
    let (size, count) = (segments[segment].bytes.count, max(partCount(of: segment), 1))
    return size * part / count..<size * (part + 1) / count
  }

  /// Returns the first segment in the playlist.
  public func firstListed(at extent: Extent) -> Int {
    window.map { max(0, extent.segments - $0) } ?? 0
  }

  /// Returns the first segment that is still served: a segment that has left the playlist remains
  /// for as long as it was in it (RFC 8216 §6.2.2).
  func firstKept(at extent: Extent) -> Int {
    window.map { max(0, extent.segments - 2 * $0 - 1) } ?? 0
  }

  /// Whether a playlist has parts of this segment: those of the last three target durations.
  func listsParts(of segment: Int, at extent: Extent) -> Bool {
    guard lowLatency != nil, extent.segments > 0 else { return lowLatency != nil }
    let newest = ends[extent.segments - 1]
    return newest - ends[segment] < .seconds(3 * targetDuration)
  }

  func isEnded(at extent: Extent) -> Bool { endsList && extent.segments == segments.count }

  /// Returns the first time at which the playlist has this segment, or this part of it; nil if it
  /// never will. A part behind the last one of a segment is the first of the next.
  func listing(of segment: Int, part: Int?) -> Duration? {
    guard segments.indices.contains(segment) else { return nil }
    guard let part, lowLatency != nil else { return completion(of: segment) }
    if part < partCount(of: segment) { return completion(of: segment, part: part) }
    guard segment + 1 < segments.count else { return nil }
    return completion(of: segment + 1, part: 0)
  }
}
