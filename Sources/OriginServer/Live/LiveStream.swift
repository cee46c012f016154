// SPDX-License-Identifier: MIT
public import Foundation

/// A live HLS stream, made of segments that were cut before: a value that says, for every time, which
/// segments and parts of segments exist, and how the origin responds to a request.
///
/// The playlist `live.m3u8` names the segments `s0.ts`, `s1.ts`, … No response has Cache-Control.
///
/// ```swift
/// var stream = LiveStream(segments)
/// stream.window = 5
/// let clock = LiveClock.running()
/// origin.serve(stream, under: "/live/", clock: clock)
/// // … play origin.url("/live/live.m3u8") …
/// ```
public struct LiveStream: Sendable {
  public struct Segment: Sendable {
    public var bytes: [UInt8]
    public var duration: Duration
    /// Whether EXT-X-DISCONTINUITY stands before it.
    public var isDiscontinuity: Bool
    /// Where each part ends in the bytes; empty if the parts are equal numbers of bytes.
    let partEnds: [Int]

    public init(_ bytes: [UInt8], duration: Duration, isDiscontinuity: Bool = false) {
      self.bytes = bytes
      self.duration = duration
      self.isDiscontinuity = isDiscontinuity
      partEnds = []
    }

    /// Makes a segment of given parts, such as fragments of MP4. The first one is marked as
    /// independent (INDEPENDENT=YES): it begins with a key frame.
    ///
    /// - Parameters:
    ///   - parts: of the stream's `partTarget` each, except the last one.
    ///   - duration: of the whole segment.
    ///   - isDiscontinuity: whether EXT-X-DISCONTINUITY stands before it.
    public init(parts: [[UInt8]], duration: Duration, isDiscontinuity: Bool = false) {
      bytes = parts.flatMap { $0 }
      self.duration = duration
      self.isDiscontinuity = isDiscontinuity
      var end = 0
      partEnds = parts.map { part in
        end += part.count
        return end
      }
    }
  }

  /// The properties of a low-latency stream (draft-pantos-hls-rfc8216bis §4.4.3.7–8).
  public struct LowLatency: Sendable {
    /// The duration of a part, except the last one of a segment.
    public var partTarget: Duration
    /// Whether parts are ranges of their segment (BYTERANGE), and no resources of their own.
    public var usesByteRanges = false
    /// Segments that are older than this are left out of delta updates; nil: there are none.
    public var canSkipUntil: Duration?

    public init(partTarget: Duration) { self.partTarget = partTarget }
  }

  /// In the order of the stream.
  public let segments: [Segment]
  /// The segments that exist at time zero. The playlist has at least one.
  public var segmentsAtStart = 1
  /// The number of segments in the playlist; nil: it only grows (EVENT).
  public var window: Int?
  /// Nil: no parts, and no blocking requests.
  public var lowLatency: LowLatency?
  /// What references begin with: nothing, `/live/`, `https://host/live/`, …
  public var referencePrefix = ""
  /// The suffix of segments and parts.
  public var suffix = "ts"
  /// Initialization of the segments (EXT-X-MAP); nil for MPEG-TS.
  public var initialization: [UInt8]?
  /// Whether responses have strong entity tags.
  public var sendsETags = true
  /// The Last-Modified of what exists at time zero, as of files; nil: no response has one.
  public var modified: Date?
  /// The number of names that segments have in turn; nil: each has a name of its own.
  public var nameCount: Int?

  /// The greatest duration, rounded to seconds (RFC 8216 §4.3.3.1).
  public let targetDuration: Int
  /// Where each segment ends, from the beginning of the first one.
  let ends: [Duration]

  /// - Parameter segments: at least one.
  public init(_ segments: [Segment]) {
    precondition(!segments.isEmpty, "a stream has segments")
    self.segments = segments
    var end = Duration.zero
    ends = segments.map { segment in
      end += segment.duration
      return end
    }
    let longest = segments.map(\.duration).max() ?? .zero
    targetDuration = max(1, Int((longest / .seconds(1)).rounded()))
  }

  /// The name of the playlist.
  public static let listName = "live.m3u8"

  /// The name of a segment, or of one of its parts.
  public func name(_ segment: Int, part: Int? = nil) -> String {
    let number = nameCount.map { segment % $0 } ?? segment
    return part.map { "s\(number).\($0).\(suffix)" } ?? "s\(number).\(suffix)"
  }

  /// Returns the segment that has a name at a time: of several, the last one that is complete.
  func segment(numbered number: Int, at time: Duration) -> Int {
    guard let nameCount, number < nameCount else { return number }
    let last = extent(at: time).segments - 1
    return last < number ? number : last - (last - number) % nameCount
  }
}

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

  func isEnded(at extent: Extent) -> Bool { extent.segments == segments.count }

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
