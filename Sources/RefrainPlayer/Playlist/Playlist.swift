// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

/// A list of media in the formats of other programs: M3U, PLS, and podcast feeds (RSS, Atom). The
/// first two can also be written.
///
/// Headers, cache keys and chapters are not written: the formats have no fields for them.
public struct Playlist: Sendable, Hashable {
  public var title: String?
  /// The entries; may be empty.
  public var entries: [Media]
  /// The entries that cannot be played, each with the reason in one sentence.
  public private(set) var skipped: [String] = []

  /// A format that can be written.
  public enum Format: String, Sendable, Hashable, CaseIterable {
    /// Also M3U8, the same format in UTF-8.
    case m3u
    case pls
  }

  /// 8 MiB.
  static let byteLimit = 8 << 20
  /// 32 MiB: feeds describe each episode at length.
  static let feedByteLimit = 32 << 20
  /// Includes skipped entries.
  static let entryLimit = 100_000

  public init(title: String? = nil, entries: [Media] = []) {
    self.title = title
    self.entries = entries
  }

  /// Reads a playlist. The first bytes determine the format; if they do not, `url` and `mimeType`
  /// do.
  ///
  /// The episodes of a feed become entries in order of their dates, the newest first.
  ///
  /// - Parameters:
  ///   - bytes: at most 8 MiB, of a feed 32 MiB, with at most 100,000 entries.
  ///   - url: the playlist's URL after redirects, to which entries are relative. Only a playlist
  ///     that is itself a file can name files: one from the network cannot make files open.
  ///   - mimeType: the MIME type that the origin reported.
  /// - Throws: `MediaCacheError` with code `.invalidResponse` if it is not a playlist, exceeds a
  ///   limit, or is an HTTP Live Stream, whose URL plays as one `Media`.
  public init(_ bytes: Data, from url: URL, mimeType: String? = nil) throws(MediaCacheError) {
    let isFeed = PlaylistKind(beginning: bytes) == .feed
    try Self.checkSize(bytes.count, isFeed ? Self.feedByteLimit : Self.byteLimit)
    let name = PlaylistKind(named: url, mimeType: mimeType)
    let text = try PlaylistText.decoded(
      bytes, isUTF8: url.pathExtension.lowercased() == "m3u8" && name == .m3u)
    var reading = PlaylistReading(from: url)
    let marked = isFeed ? .feed : PlaylistKind(text)
    guard marked != nil || !PlaylistKind.isMarkup(text) else {
      throw MediaCacheError(
        .invalidResponse, "The file is XML or HTML, and is not a playlist.",
        remedy: "Check that the URL is the playlist's, and not that of a page that shows it.")
    }
    switch marked ?? name {
    case .m3u: try reading.readM3U(text)
    case .pls: try reading.readPLS(text)
    case .feed: try reading.readFeed(text)
    case nil:
      throw MediaCacheError(
        .invalidResponse, "Neither the name nor the first bytes identify a playlist.",
        remedy: "Use a playlist in the format M3U or PLS, or a podcast feed.")
    }
    title = reading.title
    entries = reading.entries
    skipped = reading.skipped
  }

  private static func checkSize(_ count: Int, _ limit: Int) throws(MediaCacheError) {
    guard count > limit else { return }
    throw MediaCacheError(
      .invalidResponse, "The playlist has \(count) bytes; the limit is \(limit).",
      remedy: "Split it into several playlists.")
  }

  /// Returns the playlist as text, to be written to a file in UTF-8.
  public func text(as format: Format) -> String {
    switch format {
    case .m3u: m3u
    case .pls: pls
    }
  }

  /// Returns the format by the MIME type if it is a playlist's, otherwise by the extension; nil if
  /// neither is a playlist's. An HTTP Live Stream also has the format `.m3u`.
  public static func format(of url: URL, mimeType: String? = nil) -> Format? {
    let type = mimeType?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    switch type {
    case "audio/x-mpegurl", "audio/mpegurl", "application/x-mpegurl", "application/mpegurl",
      "application/vnd.apple.mpegurl", "application/vnd.apple.mpegurl.audio":
      return .m3u
    case "audio/x-scpls", "audio/scpls", "application/pls+xml", "application/pls": return .pls
    default: break
    }
    switch url.pathExtension.lowercased() {
    case "m3u", "m3u8": return .m3u
    case "pls": return .pls
    default: return nil
    }
  }
}
