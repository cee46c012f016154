// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

/// A podcast feed (RSS, Atom) as a list of media.
struct Feed: Sendable {
  private(set) var title: String?
  /// The episodes, the newest first.
  private(set) var episodes: [Media] = []
  /// The entries that cannot be played, each with the reason in one sentence.
  private(set) var skipped: [String] = []

  /// 32 MiB: feeds describe each episode at length.
  static let byteLimit = 32 << 20

  static let tooManyEpisodes = MediaCacheError(
    .invalidResponse, "The feed exceeds the limit of \(Playlist.entryLimit) episodes.",
    remedy: "Play its episodes by their own URLs.")

  /// - Parameters:
  ///   - bytes: at most 32 MiB.
  ///   - url: the feed's URL after redirects, to which its episodes are relative. Only a feed that
  ///     is itself a file can name files.
  /// - Throws: `MediaCacheError` with code `.invalidResponse` if it is not a feed, or exceeds a
  ///   limit.
  init(_ bytes: Data, from url: URL) throws(MediaCacheError) {
    guard bytes.count <= Self.byteLimit else {
      throw MediaCacheError(
        .invalidResponse, "The feed has \(bytes.count) bytes; the limit is \(Self.byteLimit).",
        remedy: "Play its episodes by their own URLs.")
    }
    var reader = FeedReader(try PlaylistText.decoded(bytes, isUTF8: false), from: url)
    try reader.read()
    guard reader.hasShow else {
      throw MediaCacheError(
        .invalidResponse, "The file is not a podcast feed: it has no channel.",
        remedy: "Check that the URL is the feed's, and not that of a page that shows it.")
    }
    title = reader.show.title
    var others = 0
    for episode in Self.newestFirst(reader.episodes) {
      guard let enclosure = episode.enclosure else {
        others += 1
        continue
      }
      do {
        let location = try PlaylistLocation(of: url).resolve(
          enclosure.text, base: enclosure.base, as: .uri)
        episodes.append(Self.media(at: location, episode, of: reader.show))
      } catch {
        skipped.append(error.reason)
      }
    }
    if others > 0 {
      skipped.append(
        "\(others) \(others == 1 ? "entry has" : "entries have") neither sound nor video.")
    }
    if reader.isIncomplete { skipped.append("The feed ends early: episodes may be missing.") }
  }

  /// An episode without a date keeps its place behind the one before it.
  private static func newestFirst(_ episodes: [FeedReader.Episode]) -> [FeedReader.Episode] {
    var last = Double.infinity
    let dated = episodes.enumerated().map { index, episode -> (Double, Int) in
      last = episode.date ?? episode.updated ?? last
      return (last, index)
    }
    return dated.sorted { $0.0 == $1.0 ? $0.1 < $1.1 : $0.0 > $1.0 }.map { episodes[$0.1] }
  }

  private static func media(
    at location: URL, _ episode: FeedReader.Episode, of show: FeedReader.Show
  ) -> Media {
    var media = Media(
      location, title: episode.title, artist: show.title, album: show.title,
      artwork: episode.image ?? show.image ?? show.picture,
      duration: episode.duration.flatMap { $0 > .zero ? $0 : nil })
    media.chaptersURL = episode.chapters
    return media
  }
}
