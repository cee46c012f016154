// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain
import RefrainLocks

/// The resources of live streams whose playlists have named them again: bytes that were stored before
/// are confirmed once before they are used (`LiveListing`).
package final class LiveListings: Sendable {
  private struct Playlist {
    /// Of the last version.
    var hash: UInt64
    var listing = LiveListing()
    /// Of an MPD (`LiveListing.beginning`).
    var beginning: String?
    var notedAt: Date
  }

  private static let mostPlaylists = 256
  private static let mostNamings = 200_000

  /// By the keys of their URLs. Held while a version is read, which takes milliseconds if it is long.
  private let playlists = Mutex<[CacheKey: Playlist]>([:])
  /// By the hashes of the resources' keys; for DASH, whose MPDs do not name each segment, by those of
  /// the streams.
  private let namings = Mutex<[UInt64: ReadTerms.Naming]>([:])
  /// Spares the lock while there are none.
  private let isAny = Atomic(false)

  package init() {}

  /// Notes the version of a manifest that a client is about to receive.
  ///
  /// - Parameters:
  ///   - manifest: the URL under which clients request it.
  ///   - url: the URL to which references are relative.
  ///   - stream: the key of the first manifest of its stream.
  ///   - isComplete: whether it is a playlist that changes no more.
  ///   - imported: the variables of the multivariant playlist that names this one.
  package func note(
    _ body: [UInt8], of manifest: URL, at url: URL, in stream: CacheKey, isComplete: Bool,
    imported: [String: String], _ cache: MediaCache
  ) {
    let now = cache.now.wall
    let key = cache.key(for: Resource(url: manifest.withoutDeliveryDirectives))
    let known = playlists.withLock { $0[key]?.hash }
    // One that was complete from the beginning does not change.
    if isComplete, known == nil { return }
    let hash = BodyHash.of(body)
    guard known != hash else { return }
    if let playlist = HLSMediaPlaylist(body, url: url, imported: imported) {
      let named = note(playlist, hash, of: key, at: now).compactMap { named in
        URL(text: named.uri, relativeTo: url).map { resource in
          let naming: ReadTerms.Naming = (now, named.isOther)
          return (Self.hash(cache.key(for: Resource(url: resource))), naming)
        }
      }
      insert(named)
    } else if let beginning = LiveListing.beginning(ofDescription: body),
      let isOther = note(beginning, hash, of: key, at: now)
    {
      insert([(Self.hash(ofStream: stream), (time: now, isOther: isOther))])
    }
  }

  /// Returns when a playlist last named a resource again; nil if none did.
  ///
  /// - Parameter stream: the key of the first manifest of its stream.
  package func naming(of key: CacheKey, in stream: CacheKey?) -> ReadTerms.Naming? {
    guard isAny.load(ordering: .acquiring) else { return nil }
    let (hash, streamHash) = (Self.hash(key), stream.map { Self.hash(ofStream: $0) })
    return namings.withLock { namings in namings[hash] ?? streamHash.flatMap { namings[$0] } }
  }

  /// Returns what a version of a playlist names again.
  private func note(
    _ playlist: HLSMediaPlaylist, _ hash: UInt64, of key: CacheKey, at now: Date
  ) -> [LiveListing.Named] {
    playlists.withLock { playlists in
      guard playlist.isLive || playlists[key] != nil else { return [] }
      var known = playlists.removeValue(forKey: key) ?? Playlist(hash: hash, notedAt: now)
      (known.hash, known.notedAt) = (hash, now)
      let named = known.listing.follow(playlist)
      Self.insert(known, of: key, into: &playlists)
      return named
    }
  }

  /// Returns whether an MPD is that of another presentation than before; nil if it is that of the
  /// same one.
  private func note(
    _ beginning: String, _ hash: UInt64, of key: CacheKey, at now: Date
  ) -> Bool? {
    playlists.withLock { playlists in
      let before = playlists[key]?.beginning
      let new = Playlist(hash: hash, beginning: beginning, notedAt: now)
      Self.insert(new, of: key, into: &playlists)
      return before == beginning ? nil : before != nil
    }
  }

  /// Of too many playlists, the half noted last remains: those of clients that are still there.
  private static func insert(
    _ playlist: Playlist, of key: CacheKey, into playlists: inout [CacheKey: Playlist]
  ) {
    playlists[key] = playlist
    guard playlists.count > mostPlaylists else { return }
    let times = playlists.values.map(\.notedAt).sorted()
    playlists = playlists.filter { $0.value.notedAt >= times[times.count / 2] }
  }

  /// Of too many, the half named last remains: players are near the end of what a playlist lists.
  private func insert(_ named: [(UInt64, ReadTerms.Naming)]) {
    namings.withLock { namings in
      namings.merge(named) { $1 }
      guard namings.count > Self.mostNamings else { return }
      let times = namings.values.map(\.time).sorted()
      let middle = times[times.count / 2]
      namings = namings.filter { $0.value.time > middle }
    }
    isAny.store(true, ordering: .releasing)
  }

  private static func hash(_ key: CacheKey) -> UInt64 { StreamParts.hash(key.rawValue.utf8) }

  /// Differs from that of the key, which is also one of a resource.
  private static func hash(ofStream key: CacheKey) -> UInt64 { ~hash(key) }
}
