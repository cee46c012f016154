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
    /// Whether requests with `_HLS_msn` wait for the segment or part.
    public var canBlockReload = true
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
  /// Whether EXT-X-ENDLIST follows the last segment.
  public var endsList = true
  /// What references begin with: nothing, `/live/`, `https://host/live/`, …
  public var referencePrefix = ""
  /// The suffix of segments and parts.
  public var suffix = "ts"
  /// Initialization of the segments (EXT-X-MAP); nil for MPEG-TS.
  public var initialization: [UInt8]?
  /// The playlists of other renditions, which report how far they are (EXT-X-RENDITION-REPORT).
  public var otherRenditions: [String] = []
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
