// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import RefrainStreams

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

/// The kind of a list of media, known by its first bytes, or else by its name.
enum ListKind: Sendable, Hashable {
  case playlist
  /// A podcast feed: RSS or Atom.
  case feed

  /// The number of bytes examined.
  static let length = PlaylistText.beginning

  /// The number of bytes of the longest list that can be read, of any kind.
  static let longest = max(Playlist.byteLimit, Feed.byteLimit)

  /// Returns the kind by the first bytes; nil for any other content, also for a plain list of
  /// locations, which has no mark.
  init?(beginning bytes: Data) {
    guard let text = PlaylistText.beginning(of: bytes) else { return nil }
    if Playlist.Format(beginning: text) != nil {
      self = .playlist
    } else if Self.isFeed(text) {
      self = .feed
    } else {
      return nil
    }
  }

  /// Returns the kind by the MIME type if that is a list's, otherwise by the extension; nil if
  /// neither is a list's. An HTTP Live Stream also is a playlist.
  init?(named url: URL, mimeType: String? = nil) {
    if Playlist.format(of: url, mimeType: mimeType) != nil {
      self = .playlist
      return
    }
    let type = mimeType?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    guard
      ["application/rss+xml", "application/atom+xml"].contains(type)
        || ["rss", "atom"].contains(url.pathExtension.lowercased())
    else { return nil }
    self = .feed
  }

  /// Whether the first element of a text is a feed's. Of a document that declares entities, its
  /// document type decides.
  private static func isFeed(_ text: String) -> Bool {
    func isRoot(_ name: some StringProtocol) -> Bool {
      ["rss", "feed"].contains(name.split(separator: ":").last?.lowercased())
    }
    var scanner = MarkupScanner(Array(text.utf8))
    while let token = scanner.next() {
      switch token {
      case .start(let name, _):
        return isRoot(String(decoding: scanner.body[name].prefix(64), as: UTF8.self))
      case .unsupported:
        guard let type = text.firstRange(of: "<!DOCTYPE")?.upperBound else { return false }
        return isRoot(text[type...].drop(while: \.isWhitespace).prefix { $0.isLetter })
      case .text(let range):
        guard scanner.body[range].allSatisfy(\.isMarkupSpace) else { return false }
      case .end, .section: return false
      }
    }
    return false
  }
}
