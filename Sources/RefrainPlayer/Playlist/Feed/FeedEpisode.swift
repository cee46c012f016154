// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// What a feed states about all its episodes.
struct FeedShow {
  var title: String?
  var author: String?
  /// The picture for apps of podcasts, and the one of RSS or Atom themselves.
  var image: URL?
  var picture: URL?
}

/// What a feed states about an episode. A pure value.
struct FeedEpisode {
  /// A reference, and the URL to which it is relative.
  struct Reference {
    var text: String
    var base: URL
  }

  var line: Int
  var title: String?
  var shortTitle: String?
  var author: String?
  var duration: Duration?
  /// In seconds since 1970.
  var date: Double?
  var updated: Double?
  var image: URL?
  var thumbnail: URL?
  var chapters: [Media.Chapter] = []
  var chaptersURL: URL?
  /// The first enclosure that may be media.
  private(set) var enclosure: Reference?
  /// The first media that Media RSS names.
  var content: Reference?

  init(line: Int) { self.line = line }

  var reference: Reference? { enclosure ?? content }

  /// Takes an enclosure, if it is the first one that may be media.
  mutating func noteEnclosure(_ reference: Reference, _ type: String?) {
    guard enclosure == nil else { return }
    let path = reference.text.prefix { $0 != "?" && $0 != "#" }
    let isNamed = MediaFiles.isMedia(path.split(separator: "/").last ?? "")
    guard isNamed || Self.isPlayable(type) ?? true else { return }
    enclosure = reference
  }

  /// Returns whether a MIME type is that of media; nil if it does not say.
  static func isPlayable(_ type: String?) -> Bool? {
    guard let type = type?.lowercased() else { return nil }
    switch type.prefix(while: { $0 != "/" }) {
    case "audio", "video": return true
    case "image", "text", "font", "message", "model": return false
    default: break
    }
    return ["pdf", "epub", "zip", "bittorrent", "html", "json", "xml"].contains {
      type.contains($0) && !type.contains("dash+xml")
    } ? false : nil
  }
}

extension PlaylistReading {
  mutating func readFeed(_ text: String) throws(MediaCacheError) {
    var reader = FeedReader(text, from: url)
    try reader.read()
    guard reader.hasShow else {
      throw MediaCacheError(
        .invalidResponse, "The file is not a podcast feed: it has no channel.",
        remedy: "Check that the URL is the feed's, and not that of a page that shows it.")
    }
    title = reader.show.title
    var others = 0
    for episode in Self.newestFirst(reader.episodes) {
      guard let reference = episode.reference else {
        others += 1
        continue
      }
      do {
        let location = try PlaylistLocation(of: url).resolve(
          reference.text, base: reference.base, as: .uri)
        entries.append(media(at: location, episode, of: reader.show))
      } catch {
        try skip("Line \(episode.line)", error)
      }
    }
    if others > 0 {
      note("\(others) \(others == 1 ? "entry has" : "entries have") neither sound nor video.")
    }
    if reader.isIncomplete { note("The feed ends early: episodes may be missing.") }
  }

  /// An episode without a date keeps its place behind the one before it.
  private static func newestFirst(_ episodes: [FeedEpisode]) -> [FeedEpisode] {
    var last = Double.infinity
    let dated = episodes.enumerated().map { index, episode -> (Double, Int) in
      last = episode.date ?? episode.updated ?? last
      return (last, index)
    }
    return dated.sorted { $0.0 == $1.0 ? $0.1 < $1.1 : $0.0 > $1.0 }.map { episodes[$0.1] }
  }

  private func media(at location: URL, _ episode: FeedEpisode, of show: FeedShow) -> Media {
    var media = Media(
      location, title: episode.title ?? episode.shortTitle,
      artist: episode.author ?? show.author ?? show.title, album: show.title,
      artwork: episode.image ?? episode.thumbnail ?? show.image ?? show.picture,
      duration: episode.duration.flatMap { $0 > .zero ? $0 : nil })
    media.chapters = episode.chapters.sorted { $0.start < $1.start }
    media.chaptersURL = episode.chaptersURL
    return media
  }
}
