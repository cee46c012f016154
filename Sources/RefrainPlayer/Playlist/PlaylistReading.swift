// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// What was read so far of a playlist, whatever its format.
struct PlaylistReading {
  let url: URL
  var title: String?
  private(set) var entries: [Media] = []
  private(set) var skipped: [String] = []

  init(from url: URL) { self.url = url }

  mutating func add(_ media: Media) throws(MediaCacheError) {
    try checkCount()
    entries.append(media)
  }

  /// - Parameter place: where it stands, in words: "Line 3".
  mutating func skip(_ place: String, _ why: PlaylistLocation.Refusal) throws(MediaCacheError) {
    try checkCount()
    skipped.append("\(place): \(why.reason)")
  }

  private func checkCount() throws(MediaCacheError) {
    guard entries.count + skipped.count < Playlist.entryLimit else {
      throw MediaCacheError(
        .invalidResponse,
        "The playlist has more than \(Playlist.entryLimit) entries, which is the most.",
        remedy: "Split it into several.")
    }
  }

  /// A picture, where it can be had; a playlist is not worse without.
  func artwork(
    _ text: some StringProtocol, base: URL? = nil, is spelling: PlaylistLocation.Spelling
  )
    -> URL?
  {
    try? PlaylistLocation(of: url).resolve(text, base: base, as: spelling)
  }
}
