// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain
import RefrainLocks

/// Which multivariant playlists name which playlists, so that none is served that leads back to
/// itself. A variant is a media playlist (RFC 8216 §4.3.4.2); ffmpeg, and players that use it, also
/// follow one that has variants itself, and would do so for ever. So they do with a live playlist
/// that is its only segment.
package final class VariantChains: Sendable {
  private struct Naming {
    /// The hashes of the URLs that the playlist names (`StreamParts.hash`).
    var playlists: Set<UInt64>
    var time: Uptime
  }

  /// More playlists are not remembered.
  private static let capacity = 256
  /// The length of a chain that is still served: some streams have redirects, or further playlists,
  /// before the multivariant one.
  private static let longest = 6
  /// In seconds. A client follows a chain at once, and a server may redirect elsewhere later.
  private static let patience = 60.0

  /// By the hashes of the playlists' URLs.
  private let namings = Mutex<[UInt64: Naming]>([:])

  package init() {}

  /// Records the playlists that a manifest names as its variants and renditions, in place of those
  /// of an earlier version. A redirect names the URL to which it leads.
  ///
  /// - Parameters:
  ///   - manifest: the URL under which clients request it.
  ///   - playlists: the hashes of their URLs; none for any other manifest.
  /// - Returns: whether the manifest may be served: it leads neither back to itself nor on and on.
  package func insert(_ manifest: URL, naming playlists: Set<UInt64>, at now: Uptime) -> Bool {
    let manifest = Self.hash(manifest)
    return namings.withLock { namings in
      namings[manifest] = nil
      guard !playlists.isEmpty else { return true }
      namings = namings.filter { now.seconds(since: $0.value.time) ?? .infinity < Self.patience }
      // All from which the client may have come.
      var known: Set<UInt64> = [manifest]
      var latest = known
      var length = 1
      while length <= Self.longest {
        let before = namings.filter {
          !known.contains($0.key) && !$0.value.playlists.isDisjoint(with: latest)
        }
        guard !before.isEmpty else { break }
        latest = Set(before.keys)
        known.formUnion(latest)
        length += 1
      }
      guard length <= Self.longest, known.isDisjoint(with: playlists) else { return false }
      if namings.count >= Self.capacity { namings = [:] }
      namings[manifest] = Naming(playlists: playlists, time: now)
      return true
    }
  }

  package static func hash(_ url: URL) -> UInt64 { StreamParts.hash(url.absoluteString.utf8) }
}
