// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Decides which segments of live streams nobody needs any more: those that have left their
/// playlist three target durations ago. A pure value, given each version of a live playlist: returns
/// the entries that the cache should give up first, and those to remove.
///
/// Playlists of type EVENT only grow, and a stream that has ended stays as it is: their segments
/// are needed, also if they leave another playlist.
struct SlidOutSegments: Sendable {
  /// A version of a live media playlist, or of an MPD: a playlist too, here.
  struct Version: Sendable {
    struct Resource: Sendable, Hashable {
      var key: CacheKey
      /// The media sequence number of the segment, or of the segment that the part belongs to.
      var sequence: Int64
      var isPart = false
    }

    /// Identifies the playlist: its URL without the delivery directives (`_HLS_msn`), in which
    /// the URLs of its versions differ.
    var playlist: CacheKey
    /// The key of the version itself, if it is stored apart from the others (`_HLS_msn`).
    var own: CacheKey?
    /// The keys of the first manifests of the streams to which the playlist belongs. It gives up
    /// nothing else: a playlist may name any URL.
    var streams: Set<CacheKey> = []
    /// In seconds.
    var targetDuration: Double
    var mediaSequence: Int64
    /// The segments that a delta update leaves out: they are still in the playlist.
    var skippedSegments: Int64 = 0
    /// Whether no segment leaves the playlist any more, or ever.
    var keepsAll = false
    /// Empty if there are too many.
    var resources: [Resource]
    /// Initializations and keys.
    var others: [CacheKey] = []
    /// Whether the playlist names the segments by all of their URLs.
    var namesAll = true
    /// After how many seconds an unchanged playlist names other segments; nil if it never does.
    var pace: Double?
    /// The resources of parts, which may be segments that still grow.
    var growing: [URL] = []
  }

  /// An entry that has left its playlist.
  struct Departed: Sendable, Hashable {
    var key: CacheKey
    /// The streams of the playlist: entries that are recorded as parts of others stay.
    var streams: Set<CacheKey>
    /// How long it is kept after its last use, in seconds: a client that plays with a delay may
    /// request it next.
    var grace: Double
    /// When its turn comes.
    var due: Double
  }

  private struct Playlist {
    var resources: [CacheKey: Version.Resource] = [:]
    /// Initializations and keys.
    var others: Set<CacheKey> = []
    var own: CacheKey?
    /// Of all of its versions: a segment is recorded as a part of the stream as which it was played.
    var streams: Set<CacheKey> = []
    var keepsAll = false
    var notedAt: Double
  }

  private static let mostPlaylists = 64
  private static let mostResources = 65_536
  private static let mostDeparted = 16_384
  /// The most entries whose turn is at once: others have to be looked at meanwhile.
  private static let mostDue = 512
  /// The most streams of a playlist. Its URL in another one, with another token, is another stream.
  private static let mostStreams = 16
  /// A playlist that no client has requested for so long is forgotten, in seconds.
  private static let patience: Double = 3600
  /// Clients begin three target durations before the end of a live playlist, or earlier (RFC 8216
  /// §6.3.3): with a short playlist, they may request a segment that has just left it.
  private static let graceInTargets: Double = 3

  private var playlists: [CacheKey: Playlist] = [:]
  /// The number of playlists that have the resource.
  private var owners: [CacheKey: Int] = [:]
  /// The first to have left first.
  private var departed: [Departed] = []
  /// The entries that go first, the first to go first, and the bytes that they take.
  private var demoted: [(key: CacheKey, bytes: Int64)] = []

  /// The bytes of the demoted entries.
  private(set) var demotedBytes: Int64 = 0
  /// The searches for what slid out before.
  private var searches = SlidOutSearches()

  /// - Parameter time: in seconds, since any time.
  mutating func note(_ version: Version, at time: Double) {
    forgetUnused(since: time - Self.patience)
    guard !version.resources.isEmpty || !version.keepsAll, makeRoom(for: version) else {
      return forget(version.playlist)
    }
    var before = playlists[version.playlist] ?? Playlist(notedAt: time)
    if playlists[version.playlist] == nil, playlists.count >= Self.mostPlaylists {
      playlists.min { $0.value.notedAt < $1.value.notedAt }.map { forget($0.key) }
    }
    var now: [CacheKey: Version.Resource] = [:]
    // Segments may be ranges of one resource: it leaves with the last of them.
    for resource in version.resources { now[resource.key] = resource }
    let firstAfter = version.mediaSequence.addingSaturated(max(version.skippedSegments, 0))
    let skipped = version.mediaSequence..<firstAfter
    for (key, resource) in before.resources
    where now[key] == nil && !resource.isPart && skipped.contains(resource.sequence) {
      now[key] = resource
    }
    for key in now.keys where before.resources[key] == nil { owners[key, default: 0] += 1 }
    returnListed(now)
    let gone = before.resources.values.filter { now[$0.key] == nil }
      .sorted { ($0.sequence, $0.key.rawValue) < ($1.sequence, $1.key.rawValue) }
    let grace = Self.graceInTargets * version.targetDuration
    searches.note(version, grace: grace, at: time)
    var leaving = gone.map(\.key).filter { release($0) }
    if version.keepsAll { leaving = [] }
    if let own = before.own, own != version.own { leaving.append(own) }
    if before.streams.count + version.streams.count > Self.mostStreams { before.streams = [] }
    before.streams.formUnion(version.streams)
    depart(
      leaving.map {
        Departed(key: $0, streams: before.streams, grace: grace, due: time + grace)
      })
    before.resources = now
    before.others = Set(version.others)
    if !before.others.isEmpty { departed.removeAll { before.others.contains($0.key) } }
    before.own = version.own
    before.keepsAll = version.keepsAll
    before.notedAt = time
    playlists[version.playlist] = before
  }

  /// Removes and returns the searches to make now (`SlidOutSearches.take`).
  mutating func takeSearches(at time: Double) -> [SlidOutSearches.Search] {
    searches.take(at: time)
  }

  /// Repeats a search (`SlidOutSearches.repeatLater`).
  mutating func repeatLater(_ search: SlidOutSearches.Search) { searches.repeatLater(search) }

  /// Whether a version of a playlist is known.
  func knows(_ playlist: CacheKey) -> Bool { playlists[playlist] != nil }

  /// Gives up entries that a search has found, unless a known playlist names them, or one that is
  /// noted before their turn comes.
  ///
  /// - Parameter keys: the least recently used first.
  mutating func leave(_ keys: [CacheKey], of search: SlidOutSearches.Search, at time: Double) {
    var known = Set(departed.map(\.key) + demoted.map(\.key))
    for playlist in playlists.values { known.formUnion(playlist.others) }
    let left = keys.filter { owners[$0] == nil && !known.contains($0) }
    // They left before all others.
    departed.insert(
      contentsOf: left.map {
        Departed(key: $0, streams: search.streams, grace: search.grace, due: time + search.grace)
      }, at: 0)
    if departed.count > Self.mostDeparted {
      departed.removeFirst(departed.count - Self.mostDeparted)
    }
  }

  /// Removes and returns the entries whose turn has come, or some of them.
  mutating func takeDue(at time: Double) -> [Departed] {
    let due = Array(departed.lazy.filter { $0.due <= time }.prefix(Self.mostDue))
    if !due.isEmpty {
      let keys = Set(due.map(\.key))
      departed.removeAll { keys.contains($0.key) }
    }
    return due.filter { owners[$0.key] == nil }
  }

  /// Keeps an entry that was used at a time, or is in use.
  mutating func postpone(_ entry: Departed, usedAt time: Double) {
    var entry = entry
    entry.due = time + entry.grace
    depart([entry])
  }

  /// Records that an entry goes first from now on.
  mutating func demote(_ key: CacheKey, bytes: Int64) {
    guard owners[key] == nil else { return }
    removeDemoted([key])
    demoted.append((key, bytes))
    demotedBytes += bytes
    if demoted.count > Self.mostDeparted { removeDemoted([demoted[0].key]) }
  }

  /// Removes and returns the first entries to go, until the others take no more than `limit`.
  mutating func takeExcess(over limit: Int64) -> [CacheKey] {
    var count = 0
    while demotedBytes > limit, count < demoted.count {
      demotedBytes -= demoted[count].bytes
      count += 1
    }
    defer { demoted.removeFirst(count) }
    return demoted[..<count].map(\.key)
  }

  // MARK: Steps

  private mutating func depart(_ entries: [Departed]) {
    guard !entries.isEmpty else { return }
    let keys = Set(entries.map(\.key))
    departed.removeAll { keys.contains($0.key) }
    departed += entries
    if departed.count > Self.mostDeparted {
      departed.removeFirst(departed.count - Self.mostDeparted)
    }
  }

  /// Forgets playlists that give up nothing, the least recently requested first, if the resources
  /// of a version would be too many.
  ///
  /// - Returns: whether there is room.
  private mutating func makeRoom(for version: Version) -> Bool {
    func hasRoom() -> Bool {
      owners.count + version.resources.count <= Self.mostResources
    }
    if hasRoom() { return true }
    let others = playlists.filter { $0.value.keepsAll && $0.key != version.playlist }
    for (key, _) in others.sorted(by: { $0.value.notedAt < $1.value.notedAt }) {
      forget(key)
      if hasRoom() { return true }
    }
    return false
  }

  /// - Returns: whether no playlist has the resource any more.
  private mutating func release(_ key: CacheKey) -> Bool {
    owners[key] = owners[key].flatMap { $0 > 1 ? $0 - 1 : nil }
    return owners[key] == nil
  }

  /// A segment that is listed again, or by another playlist, is needed.
  private mutating func returnListed(_ listed: [CacheKey: Version.Resource]) {
    if departed.contains(where: { listed[$0.key] != nil }) {
      departed.removeAll { listed[$0.key] != nil }
    }
    let returned = demoted.filter { listed[$0.key] != nil }
    if !returned.isEmpty { removeDemoted(Set(returned.map(\.key))) }
  }

  private mutating func removeDemoted(_ keys: Set<CacheKey>) {
    for entry in demoted where keys.contains(entry.key) { demotedBytes -= entry.bytes }
    demoted.removeAll { keys.contains($0.key) }
  }

  private mutating func forget(_ playlist: CacheKey) {
    guard let known = playlists.removeValue(forKey: playlist) else { return }
    for key in known.resources.keys { _ = release(key) }
  }

  private mutating func forgetUnused(since time: Double) {
    for (key, playlist) in playlists where playlist.notedAt < time { forget(key) }
  }
}

extension Int64 {
  fileprivate func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflowed) = addingReportingOverflow(other)
    return overflowed ? .max : sum
  }
}
