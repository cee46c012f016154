// SPDX-License-Identifier: MIT
import Refrain

/// The playlists of a recorded stream: which ones the player uses, where the playlists that it is
/// given begin, what has to be stored next, and what is dropped. A pure value.
struct RecordingState: Sendable {
  /// The bytes of a resource that a segment needs.
  struct Part: Sendable, Hashable {
    /// Relative to the playlist's URL.
    var uri: String
    /// Nil: the whole resource.
    var range: ByteRange?
  }

  struct Next: Sendable {
    var number: Int64
    var segment: Part
    /// The keys and the initialization that the segment before it did not need.
    var others: [Part]
  }

  struct Oldest: Sendable {
    var number: Int64
    var segment: Part
    /// Whether it is older than what is kept, takes too much room, or was not stored.
    var isDue: Bool
  }

  private struct Recorded {
    var playlist: RecordedPlaylist
    /// The segment with which live playback begins.
    var first: Int64
    /// The next segment to store.
    var next: Int64
    /// The bytes of stored segments, by their numbers.
    var stored: [Int64: Int64] = [:]
    var bytes: Int64 = 0
    /// The number of the client's last request for it.
    var lastRequest = 0
    /// Whether the player uses it.
    var isFollowed = false
    /// Whether the last version had something new.
    var isChanged = true
    /// The resources of its segments, by which a client's use of it is recognized.
    var own: Set<CacheKey> = []

    /// Whether a segment may be on its way.
    func isStoring(_ number: Int64) -> Bool { number == next - 1 }

    /// - Parameter start: see `RecordingState.beginning`.
    func number(at start: Double?) -> Int64 {
      start.map { playlist.number(at: $0) } ?? max(first, playlist.firstNumber)
    }
  }

  private var playlists: [CacheKey: Recorded] = [:]
  /// Where the playlists begin, in seconds; nil: where live playback began.
  private var beginning: Double?
  /// Counts the client's requests for playlists.
  private var requests = 0

  private static let mostPlaylists = 64
  private static let mostSegments = 50_000
  /// A player requests each of its playlists once per target duration. The one that it did not
  /// request while it requested others so often is one that it no longer uses.
  private static let patience = 16

  // MARK: Versions

  /// Takes a version of a playlist.
  ///
  /// - Parameter key: returns the key of a reference; nil if the proxy does not fetch it.
  /// - Returns: whether the playlist is recorded: it is that of a live stream, or was.
  mutating func take(
    _ version: HLSMediaPlaylist, of name: CacheKey, key: (String) -> CacheKey?
  ) -> Bool {
    if let known = playlists[name], known.isFollowed || known.playlist.isContinued(by: version) {
      note(version, of: name)
    } else {
      guard version.isLive, !version.segments.isEmpty,
        playlists[name] != nil || playlists.count < Self.mostPlaylists
      else {
        playlists[name] = nil
        return false
      }
      let playlist = RecordedPlaylist(version, endingAt: end(of: version))
      let first = playlist.liveNumber
      playlists[name] = Recorded(playlist: playlist, first: first, next: first)
    }
    if let known = playlists[name], !known.isFollowed {
      playlists[name]?.own = Set(
        known.playlist.uris(from: known.number(at: beginning)).compactMap(key))
    }
    return true
  }

  /// Takes a version of a recorded playlist. Returns whether it has something new.
  @discardableResult
  mutating func note(_ version: HLSMediaPlaylist, of name: CacheKey) -> Bool {
    let isChanged = playlists[name]?.playlist.note(version) ?? false
    playlists[name]?.isChanged = isChanged
    return isChanged
  }

  /// Returns where the last segment of another playlist ends: with the segment of the same number,
  /// or with those that are there now.
  private func end(of version: HLSMediaPlaylist) -> Double? {
    let used = playlists.values.filter(\.isFollowed)
    let others = (used.isEmpty ? Array(playlists.values) : used).map(\.playlist)
    let sequence = version.segments.last?.sequence
    return sequence.flatMap { sequence in
      others.lazy.compactMap { $0.end(ofSequence: sequence) }.first
    } ?? others.map(\.times.upperBound).max()
  }

  /// Returns a recorded playlist as the client is given it; nil if it is not recorded.
  func text(of name: CacheKey) -> [UInt8]? {
    playlists[name].map { $0.playlist.text(from: $0.number(at: beginning)) }
  }

  /// Returns what a playlist has of segments that its origin may no longer have, as versions of the
  /// origin's playlist: before and after they have left it.
  func departing(from name: CacheKey) -> [[UInt8]] {
    guard let playlist = playlists[name]?.playlist, !playlist.isEnded else { return [] }
    return [playlist.firstNumber, playlist.firstListed].map {
      playlist.text(from: $0, isGrowing: false)
    }
  }

  // MARK: What the player uses

  func isFollowed(_ name: CacheKey) -> Bool { playlists[name]?.isFollowed ?? false }

  /// Records that the client requests a resource. Returns the playlists that it begins to use.
  mutating func noteRequest(for resource: CacheKey) -> [CacheKey] {
    let names = playlists.filter { !$0.value.isFollowed && $0.value.own.contains(resource) }.keys
    for name in names {
      playlists[name]?.isFollowed = true
      playlists[name]?.own = []
      playlists[name]?.lastRequest = requests
    }
    return Array(names)
  }

  /// Records that the client requests a playlist again. Returns those that it no longer uses.
  mutating func noteReload(of name: CacheKey) -> [CacheKey] {
    requests += 1
    playlists[name]?.lastRequest = requests
    let unused = playlists.filter {
      $0.value.isFollowed && requests - $0.value.lastRequest > Self.patience
    }.keys
    for name in unused { playlists[name]?.isFollowed = false }
    return Array(unused)
  }

  /// The times that can be played, in seconds; nil if nothing is recorded.
  var window: Range<Double>? {
    let times = playlists.values.filter(\.isFollowed).map(\.playlist.times)
    guard let start = times.map(\.lowerBound).max(), let end = times.map(\.upperBound).min(),
      start < end
    else { return nil }
    return start..<end
  }

  /// The greatest target duration, in seconds.
  var targetDuration: Double { playlists.values.map(\.playlist.targetDuration).max() ?? 0 }

  /// Where the playlists begin now, in seconds; nil if there is none.
  var start: Double? {
    let used = playlists.values.filter(\.isFollowed)
    return (used.isEmpty ? Array(playlists.values) : used)
      .compactMap { $0.playlist.segment($0.number(at: beginning))?.start }.min()
  }

  /// Has the playlists begin at a time, in seconds; nil: near the present.
  mutating func begin(at time: Double?) {
    beginning =
      time
      ?? playlists.values.filter(\.isFollowed)
      .compactMap { $0.playlist.segment($0.playlist.liveNumber)?.start }.min()
  }

  // MARK: Following

  /// The time until the next reload, in seconds: the target duration after a change, half of it
  /// otherwise (RFC 8216 §6.3.4); nil if there is none.
  func interval(of name: CacheKey) -> Double? {
    guard let recorded = playlists[name], recorded.isFollowed, !recorded.playlist.isEnded else {
      return nil
    }
    return max(0.5, recorded.playlist.targetDuration / (recorded.isChanged ? 1 : 2))
  }

  /// Returns the next segment to store; nil if there is none yet.
  ///
  /// - Parameter duration: how much is kept, in seconds: what is older is not stored first.
  mutating func takeNext(of name: CacheKey, keeping duration: Double) -> Next? {
    guard let recorded = playlists[name], recorded.isFollowed else { return nil }
    let end = recorded.playlist.times.upperBound
    let number = max(recorded.next, recorded.playlist.number(at: end - duration))
    guard let segment = recorded.playlist.segment(number) else { return nil }
    playlists[name]?.next = number + 1
    let known = recorded.playlist.segment(number - 1)?.others ?? []
    return Next(
      number: number, segment: segment.part, others: segment.others.filter { !known.contains($0) })
  }

  mutating func noteStored(_ bytes: Int64, of number: Int64, in name: CacheKey) {
    guard playlists[name]?.playlist.segment(number) != nil else { return }
    playlists[name]?.bytes += bytes
    playlists[name]?.stored[number] = bytes
  }

  /// Returns the oldest segment, if its origin no longer offers it.
  ///
  /// - Parameters:
  ///   - duration: how much is kept, in seconds.
  ///   - limit: the bytes that may be kept of all playlists.
  func oldest(of name: CacheKey, keeping duration: Double, limit: Int64) -> Oldest? {
    guard let recorded = playlists[name], let first = recorded.playlist.segments.first else {
      return nil
    }
    let (playlist, number) = (recorded.playlist, recorded.playlist.firstNumber)
    guard number < playlist.firstListed else { return nil }
    let isDue =
      playlist.times.upperBound - first.end > duration
      || playlists.values.reduce(0) { $0 + $1.bytes } > limit
      || playlist.segments.count > Self.mostSegments
      || (number < recorded.next && recorded.stored[number] == nil && !recorded.isStoring(number))
    return Oldest(number: number, segment: first.part, isDue: isDue)
  }

  /// Drops the first segment of a playlist, if it still has this number. Returns whether it had.
  mutating func drop(_ number: Int64, of name: CacheKey) -> Bool {
    guard playlists[name]?.playlist.firstNumber == number else { return false }
    playlists[name]?.playlist.dropFirst()
    if let bytes = playlists[name]?.stored.removeValue(forKey: number) {
      playlists[name]?.bytes -= bytes
    }
    return true
  }
}

extension RecordedPlaylist {
  fileprivate func uris(from number: Int64) -> [String] {
    segments.dropFirst(Int(max(0, number - firstNumber))).map(\.uri)
  }
}

extension RecordedPlaylist.Segment {
  fileprivate var part: RecordingState.Part { .init(uri: uri, range: byteRange) }

  fileprivate var others: [RecordingState.Part] {
    let keys = keys.compactMap { $0.key.uri }.map { RecordingState.Part(uri: $0) }
    return keys + (map.map { [.init(uri: $0.uri, range: $0.byteRange)] } ?? [])
  }
}
