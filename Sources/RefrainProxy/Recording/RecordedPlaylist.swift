// SPDX-License-Identifier: MIT
import Refrain

/// The segments of a live media playlist, put together from its versions: also those that have left
/// the origin's playlist, until they are dropped. A pure value.
///
/// Segments have numbers without a gap: the origin's media sequence numbers, until segments are
/// missing or that sequence begins again. Players expect equal numbers in all playlists of a stream.
struct RecordedPlaylist: Sendable {
  struct Key: Sendable, Hashable {
    var key: HLSKey
    /// As it is spelled in the playlist; nil: the origin's media sequence number of the segment.
    var vector: String?
  }

  struct Segment: Sendable, Hashable {
    /// Relative to the playlist's URL.
    var uri: String
    /// In seconds.
    var duration: Double
    /// In seconds, on the time axis of the recording.
    var start: Double
    var byteRange: ByteRange?
    var isDiscontinuity: Bool
    var isGap: Bool
    var keys: [Key]
    var map: HLSMediaPlaylist.Map?
    /// The keys that apply to the initialization.
    var mapKeys: [Key]
    /// The origin's media sequence number.
    var sequence: Int64

    var end: Double { start + duration }
  }

  /// The segments, behind those that were dropped: these are removed together, since each removal
  /// moves all others.
  private var all: [Segment] = []
  private var dropped = 0
  /// The number of the first segment.
  private(set) var firstNumber: Int64
  /// The longest one of all versions, in seconds.
  private(set) var targetDuration: Double
  /// The time in which the origin's playlist changes, in seconds: the target duration of the last
  /// version, or a third of what it lists if that is shorter, so that no segment passes unseen.
  private(set) var pace: Double
  /// The number of discontinuities before the first segment.
  private(set) var discontinuities: Int64
  /// How many segments have a resource, by its reference.
  private var uses: [String: Int] = [:]
  /// Whether the origin adds no more segments.
  private(set) var isEnded = false
  /// The number of the first segment that is in the origin's playlist.
  private(set) var firstListed: Int64
  /// The number of the first segment since the origin's media sequence last began again.
  private var firstOfSequence: Int64

  /// - Parameters:
  ///   - version: the first version; must have a segment.
  ///   - end: where the last segment ends on the time axis; nil: the first one begins at zero.
  init(_ version: HLSMediaPlaylist, endingAt end: Double? = nil) {
    let first = version.segments.first?.sequence ?? 0
    firstNumber = first < Self.greatestNumber ? first : 0
    (firstListed, firstOfSequence) = (firstNumber, firstNumber)
    targetDuration = version.targetDuration
    pace = version.pace
    discontinuities = min(version.discontinuitySequence, Self.greatestNumber)
    isEnded = version.isEnded
    let start = (end ?? version.totalDuration) - version.totalDuration
    append(version.segments[...], of: version, from: start)
  }

  /// Whether a version continues this one: it has the last segment, or the one after it.
  func isContinued(by version: HLSMediaPlaylist) -> Bool {
    guard let last = segments.last, let first = version.segments.first else { return false }
    return relation(of: version) != .restarted
      && first.sequence <= last.sequence.addingSaturated(1)
  }

  // MARK: Versions

  /// Takes another version of the playlist.
  ///
  /// - Parameter elapsed: the seconds since the last version: missing segments took no longer.
  /// - Returns: whether it has new segments, or is the last one.
  mutating func note(_ version: HLSMediaPlaylist, after elapsed: Double = .infinity) -> Bool {
    guard !isEnded, let first = version.segments.first, let last = segments.last else {
      return false
    }
    targetDuration = max(targetDuration, version.targetDuration)
    pace = version.pace
    switch relation(of: version) {
    case .older: return false
    case .restarted:
      firstOfSequence = endNumber
      firstListed = endNumber
      append(version.segments[...], of: version, from: last.end, isInterrupted: true)
    case .next:
      let new = version.segments.drop { $0.sequence <= last.sequence }
      let missing = max(0, first.sequence.subtractingSaturated(last.sequence) - 1)
      // Nobody knows how long the segments were that no version had.
      let stated = Double(min(missing, Self.mostMissing)) * version.meanDuration
      let gap = min(stated, max(0, elapsed) + version.targetDuration)
      if let next = new.first {
        append(
          new, of: version, from: last.end + gap,
          isInterrupted: next.sequence > last.sequence.addingSaturated(1))
      }
      firstListed = max(firstListed, number(ofSequence: first.sequence))
      isEnded = version.isEnded
      return !new.isEmpty || isEnded
    }
    isEnded = version.isEnded
    return true
  }

  private enum Relation { case next, older, restarted }

  /// Returns how a version relates to the segments so far. An origin of several machines may send a
  /// version that is older than the last one; one that was started again counts from the beginning.
  private func relation(of version: HLSMediaPlaylist) -> Relation {
    guard let last = segments.last, let newest = version.segments.last else { return .older }
    let known =
      newest.sequence < last.sequence
      ? newest
      : version.segments.last {
        $0.sequence == last.sequence
      }
    guard let known else { return .next }
    let place = number(ofSequence: known.sequence)
    guard place >= firstNumber, segment(place).map({ $0.sequence == known.sequence }) == true else {
      // Older than all that is known since the sequence began.
      return .restarted
    }
    let isSame = segment(place).map { $0.isNamed(like: known) } ?? false
    guard isSame else { return .restarted }
    return newest.sequence < last.sequence ? .older : .next
  }

  private static let mostMissing: Int64 = 100_000
  /// Far below the numbers whose sums overflow.
  private static let greatestNumber: Int64 = 1 << 52

  private mutating func append(
    _ new: ArraySlice<HLSMediaPlaylist.Segment>, of version: HLSMediaPlaylist, from start: Double,
    isInterrupted: Bool = false
  ) {
    var start = start
    var isInterrupted = isInterrupted
    for segment in new {
      all.append(
        Segment(
          uri: segment.uri, duration: segment.duration, start: start,
          byteRange: segment.byteRange,
          isDiscontinuity: segment.isDiscontinuity || isInterrupted, isGap: segment.isGap,
          keys: zip(segment.keys, segment.vectors).map {
            Key(key: version.keys[$0], vector: $1)
          },
          map: segment.map.map { version.maps[$0] },
          mapKeys: zip(segment.mapKeys, segment.mapVectors).map {
            Key(key: version.keys[$0], vector: $1)
          }, sequence: segment.sequence))
      for uri in Set([segment.uri, segment.map.map { version.maps[$0].uri }].compactMap(\.self)) {
        uses[uri, default: 0] += 1
      }
      start += segment.duration
      isInterrupted = false
    }
  }

  // MARK: Places

  /// The oldest first.
  var segments: ArraySlice<Segment> { all[dropped...] }

  /// The number of the segment that follows the last one.
  var endNumber: Int64 { firstNumber + Int64(segments.count) }

  /// The times of all segments, in seconds.
  var times: Range<Double> {
    guard let first = segments.first, let last = segments.last else { return 0..<0 }
    return first.start..<max(first.start, last.end)
  }

  func segment(_ number: Int64) -> Segment? {
    let index = number - firstNumber
    return index >= 0 && index < all.count - dropped ? all[dropped + Int(index)] : nil
  }

  /// Returns the number of the segment that is played at a time; the nearest one if there is none.
  func number(at time: Double) -> Int64 {
    let after = segments.firstPlace { $0.start > time }
    return firstNumber + Int64(max(0, after - 1))
  }

  /// Returns the first segment since the sequence began that is this one or a later one.
  private func number(ofSequence sequence: Int64) -> Int64 {
    let first = min(Int(max(0, firstOfSequence - firstNumber)), segments.count)
    let place = segments.dropFirst(first).firstPlace { $0.sequence >= sequence }
    return firstNumber + Int64(first + place)
  }

  /// The number of the segment at which live playback begins: the last one that starts at least
  /// three target durations before the end (RFC 8216 §6.3.3).
  var liveNumber: Int64 {
    number(at: times.upperBound - 3 * targetDuration)
  }

  /// Returns where the segment with a media sequence number ends; nil if there is none.
  func end(ofSequence sequence: Int64) -> Double? {
    let number = number(ofSequence: sequence)
    return segment(number).flatMap { $0.sequence == sequence ? $0.end : nil }
  }

  /// Ends the playlist: the origin adds nothing more.
  mutating func end() { isEnded = true }

  /// Whether a segment needs a resource.
  func isUsed(_ uri: String) -> Bool { uses[uri] != nil }

  /// Drops the first segment.
  mutating func dropFirst() {
    guard let first = segments.first else { return }
    if first.isDiscontinuity { discontinuities += 1 }
    for uri in Set([first.uri, first.map?.uri].compactMap(\.self)) {
      let count = uses[uri] ?? 0
      uses[uri] = count > 1 ? count - 1 : nil
    }
    dropped += 1
    if dropped >= 256, dropped > all.count / 2 {
      all.removeFirst(dropped)
      dropped = 0
    }
    firstNumber += 1
    firstListed = max(firstListed, firstNumber)
  }
}

extension RecordedPlaylist.Segment {
  /// Whether a segment of another version has the same name. Tokens in queries and directories may
  /// differ from version to version.
  fileprivate func isNamed(like other: HLSMediaPlaylist.Segment) -> Bool {
    func name(_ uri: String) -> Substring {
      let path = uri.prefix { $0 != "?" && $0 != "#" }
      return path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path
    }
    return name(uri) == name(other.uri) && byteRange == other.byteRange
  }
}

extension HLSMediaPlaylist {
  /// In seconds.
  fileprivate var meanDuration: Double {
    segments.isEmpty ? targetDuration : totalDuration / Double(segments.count)
  }

  /// See `RecordedPlaylist.pace`.
  fileprivate var pace: Double {
    segments.isEmpty ? targetDuration : min(targetDuration, totalDuration / 3)
  }
}

extension RandomAccessCollection where Index == Int {
  /// Returns the distance to the first element that fulfils a condition, as all later ones do (a
  /// binary search).
  fileprivate func firstPlace(_ fulfils: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if fulfils(self[startIndex + middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension Int64 {
  fileprivate func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflowed) = addingReportingOverflow(other)
    return overflowed ? .max : sum
  }

  fileprivate func subtractingSaturated(_ other: Int64) -> Int64 {
    let (difference, overflowed) = subtractingReportingOverflow(other)
    return overflowed ? .max : difference
  }
}
