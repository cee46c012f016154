// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The part of a playlist read so far, in any format.
struct PlaylistReading {
  let url: URL
  var title: String?
  var entries: [Media] = []
  private(set) var skipped: [String] = []

  init(from url: URL) { self.url = url }

  mutating func add(_ media: Media) throws(MediaCacheError) {
    try checkCount()
    entries.append(media)
  }

  /// - Parameter place: the place in the playlist, in words: "Line 3".
  mutating func skip(_ place: String, _ why: PlaylistLocation.Refusal) throws(MediaCacheError) {
    try checkCount()
    skipped.append("\(place): \(why.reason)")
  }

  private func checkCount() throws(MediaCacheError) {
    guard entries.count + skipped.count < Playlist.entryLimit else {
      throw MediaCacheError(
        .invalidResponse, "The playlist exceeds the limit of \(Playlist.entryLimit) entries.",
        remedy: "Split it into several playlists.")
    }
  }

  /// Returns the URL of a picture; nil if it is not valid, which does not matter.
  func artwork(_ text: some StringProtocol) -> URL? {
    try? PlaylistLocation(of: url).resolve(text, as: .pathOrURI)
  }
}
