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
    /// Segments that could not be stored, and those of them to try again.
    var failed: [Int64] = []
    var again: [Int64] = []
    /// The bytes of stored segments, by their numbers.
    var stored: [Int64: Int64] = [:]
    var bytes: Int64 = 0
    /// The number of the client's last request for it.
    var lastRequest = 0
    /// Whether the player uses it, or examines it.
    var isFollowed = false
    /// Whether the player uses it: it has requested it again. A player requests each playlist of a
    /// stream once, with a segment, to learn what is in it.
    var isPlayed = false
    /// The client's requests for it since all playlists last began elsewhere.
    var loads = 1
    /// Until when segments are stored while the player only examines it, in seconds.
    var trial = 0.0
    /// The number of reloads that brought nothing new.
    var unchanged = 0
    /// The number of reloads that the origin refused for good.
    var refusals = 0
    /// When the last version came, in seconds.
    var versionTime: Double?
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
  /// As `patience`, for playlists that the player only examines.
  private static let trialPatience = 6
  /// In target durations.
  private static let trialLength = 3.0
  /// After how many refusals the origin no longer has a playlist.
  private static let mostRefusals = 3
  /// How long a playlist may stand still, in seconds and in target durations, whichever is longer.
  private static let (longestStandstill, mostTargetsOfStandstill) = (60.0, 10.0)

  // MARK: Versions

  /// Takes a version of a playlist.
  ///
  /// - Parameters:
  ///   - time: now, in seconds of any time axis.
  ///   - key: returns the key of a reference; nil if the proxy does not fetch it.
  /// - Returns: whether the playlist is recorded: it is that of a live stream, or was.
  mutating func take(
    _ version: HLSMediaPlaylist, of name: CacheKey, at time: Double? = nil,
    key: (String) -> CacheKey?
  ) -> Bool {
    if let known = playlists[name], known.isFollowed || known.playlist.isContinued(by: version) {
      note(version, of: name, at: time)
    } else {
      guard version.isLive, !version.segments.isEmpty,
        playlists[name] != nil || playlists.count < Self.mostPlaylists
      else {
        playlists[name] = nil
        return false
      }
      let playlist = RecordedPlaylist(version, endingAt: end(of: version))
      let first = playlist.liveNumber
      playlists[name] = Recorded(
        playlist: playlist, first: first, next: first, versionTime: time)
    }
    if let known = playlists[name], !known.isFollowed {
      playlists[name]?.own = Set(
        known.playlist.uris(from: known.number(at: beginning)).compactMap(key))
    }
    return true
  }

  /// Takes a version of a recorded playlist. Returns whether it has something new. A playlist that
  /// stands still has ended: players go on with what the origin has then.
  ///
  /// - Parameter time: see `take`.
  @discardableResult
  mutating func note(_ version: HLSMediaPlaylist, of name: CacheKey, at time: Double? = nil) -> Bool
  {
    guard let known = playlists[name] else { return false }
    let elapsed = time.flatMap { now in known.versionTime.map { now - $0 } } ?? .infinity
    let isChanged = playlists[name]?.playlist.note(version, after: elapsed) ?? false
    playlists[name]?.isChanged = isChanged
    playlists[name]?.refusals = 0
    if let time { playlists[name]?.versionTime = time }
    guard !isChanged, known.isFollowed else {
      playlists[name]?.unchanged = 0
      return isChanged
    }
    playlists[name]?.unchanged += 1
    let standstill = Double(known.unchanged + 1) * (interval(of: name) ?? 0)
    let target = known.playlist.targetDuration
    if standstill > max(Self.longestStandstill, Self.mostTargetsOfStandstill * target) {
      playlists[name]?.playlist.end()
    }
    return false
  }

  /// Records that the origin has refused a playlist for good (404, 403). It may be back at the next
  /// reload; otherwise the playlist has ended.
  mutating func noteRefusal(of name: CacheKey) {
    playlists[name]?.refusals += 1
    if let count = playlists[name]?.refusals, count >= Self.mostRefusals {
      playlists[name]?.playlist.end()
    }
  }

  /// Returns where the last segment of another playlist ends: with those that are there now, or
  /// with the segment of the same number, if that is near. Playlists may have numbers of their own.
  private func end(of version: HLSMediaPlaylist) -> Double? {
    let others = used.map(\.playlist)
    let newest = others.map(\.times.upperBound).max()
    guard let newest, let sequence = version.segments.last?.sequence,
      let same = others.lazy.compactMap({ $0.end(ofSequence: sequence) }).first,
      abs(same - newest) <= 2 * version.targetDuration
    else { return newest }
    return same
  }

  /// The playlists that play; before any does, those that the player examines, or all.
  private var used: [Recorded] {
    let followed = playlists.values.filter(\.isFollowed)
    let played = followed.filter(\.isPlayed)
    return !played.isEmpty ? played : !followed.isEmpty ? followed : Array(playlists.values)
  }

  /// Returns a recorded playlist as the client is given it; nil if it is not recorded.
  func text(of name: CacheKey) -> [UInt8]? {
    playlists[name].map { $0.playlist.text(from: $0.number(at: beginning)) }
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
      if let playlist = playlists[name]?.playlist {
        playlists[name]?.trial =
          playlist.times.upperBound + Self.trialLength * playlist.targetDuration
      }
    }
    return Array(names)
  }

  /// Records that the client requests a playlist again. Returns those that it no longer uses, which
  /// are recorded no further.
  mutating func noteReload(of name: CacheKey) -> [CacheKey] {
    requests += 1
    playlists[name]?.lastRequest = requests
    playlists[name]?.loads += 1
    if let loads = playlists[name]?.loads, loads > 1 { playlists[name]?.isPlayed = true }
    let unused = playlists.filter { _, recorded in
      let patience = recorded.isPlayed ? Self.patience : Self.trialPatience
      return recorded.isFollowed && requests - recorded.lastRequest > patience
    }.keys
    for name in unused { playlists[name] = nil }
    return Array(unused)
  }

  /// The times that can be played, in seconds; nil if nothing is recorded.
  var window: Range<Double>? {
    let times = used.filter(\.isFollowed).map(\.playlist.times)
    guard let start = times.map(\.lowerBound).max(), let end = times.map(\.upperBound).min(),
      start < end
    else { return nil }
    return start..<end
  }

  /// The greatest target duration, in seconds.
  var targetDuration: Double { playlists.values.map(\.playlist.targetDuration).max() ?? 0 }

  /// Where the playlists begin now, in seconds; nil if there is none.
  var start: Double? {
    used.compactMap { $0.playlist.segment($0.number(at: beginning))?.start }.min()
  }

  /// Has the playlists begin at a time, in seconds; nil: near the present.
  mutating func begin(at time: Double?) {
    beginning =
      time
      ?? used.filter(\.isFollowed)
      .compactMap { $0.playlist.segment($0.playlist.liveNumber)?.start }.min()
    // The client is going to request each of them once.
    for name in playlists.keys { playlists[name]?.loads = 0 }
  }

  // MARK: Following

  /// The time until the next reload, in seconds: the target duration after a change, half of it
  /// otherwise (RFC 8216 §6.3.4); nil if there is none.
  func interval(of name: CacheKey) -> Double? {
    guard let recorded = playlists[name], recorded.isFollowed, !recorded.playlist.isEnded else {
      return nil
    }
    return max(0.5, recorded.playlist.pace / (recorded.isChanged ? 1 : 2))
  }

  /// Returns the next segment to store; nil if there is none yet.
  ///
  /// - Parameter duration: how much is kept, in seconds: what is older is not stored first.
  mutating func takeNext(of name: CacheKey, keeping duration: Double) -> Next? {
    guard let recorded = playlists[name], recorded.isFollowed else { return nil }
    if let number = recorded.again.first {
      playlists[name]?.again.removeFirst()
      guard let segment = recorded.playlist.segment(number) else {
        return takeNext(of: name, keeping: duration)
      }
      return Next(number: number, segment: segment.part, others: segment.others)
    }
    let end = recorded.playlist.times.upperBound
    var number = max(recorded.next, recorded.playlist.number(at: end - duration))
    // The origin does not have these.
    while recorded.playlist.segment(number)?.isGap == true { number += 1 }
    guard let segment = recorded.playlist.segment(number),
      recorded.isPlayed || segment.start < recorded.trial
        || !playlists.values.contains(where: { $0.isFollowed && $0.isPlayed })
    else { return nil }
    playlists[name]?.next = number + 1
    let known = recorded.playlist.segment(number - 1)?.others ?? []
    return Next(
      number: number, segment: segment.part, others: segment.others.filter { !known.contains($0) })
  }

  mutating func noteStored(_ bytes: Int64, of number: Int64, in name: CacheKey) {
    guard let recorded = playlists[name], recorded.playlist.segment(number) != nil else { return }
    playlists[name]?.bytes += bytes - (recorded.stored[number] ?? 0)
    playlists[name]?.stored[number] = bytes
  }

  /// Records that a segment, or what it needs, could not be stored.
  mutating func noteFailed(_ number: Int64, in name: CacheKey) {
    playlists[name]?.failed.append(number)
  }

  /// Has the segments stored that could not be, as long as the origin offers them. Returns whether
  /// there are any.
  mutating func tryAgain(_ name: CacheKey) -> Bool {
    guard let recorded = playlists[name], !recorded.failed.isEmpty else { return false }
    let listed = recorded.failed.filter { $0 >= recorded.playlist.firstListed }
    playlists[name]?.again += listed
    playlists[name]?.failed = []
    return !listed.isEmpty
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

  /// Drops the first segment of a playlist, if it still has this number. Returns the resources that
  /// leave with it: a resource may have several segments.
  mutating func drop(_ number: Int64, of name: CacheKey) -> [Part] {
    guard let playlist = playlists[name]?.playlist, playlist.firstNumber == number,
      let first = playlist.segments.first
    else { return [] }
    playlists[name]?.playlist.dropFirst()
    if let bytes = playlists[name]?.stored.removeValue(forKey: number) {
      playlists[name]?.bytes -= bytes
    }
    return playlists[name]?.playlist.isUsed(first.uri) == true ? [] : [first.part]
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
