// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

/// A list of media in a format of other programs: M3U or PLS.
///
/// Headers, cache keys and chapters are not written: the formats have no fields for them.
public struct Playlist: Sendable, Hashable {
  public var title: String?
  /// The entries; may be empty.
  public var entries: [Media]
  /// The entries that cannot be played, each with the reason in one sentence.
  public private(set) var skipped: [String] = []

  /// 8 MiB.
  package static let byteLimit = 8 << 20
  /// Includes skipped entries.
  package static let entryLimit = 100_000

  public init(title: String? = nil, entries: [Media] = []) {
    self.title = title
    self.entries = entries
  }

  /// Reads a playlist. The first bytes determine the format; if they do not, `url` and `mimeType`
  /// do.
  ///
  /// - Parameters:
  ///   - bytes: at most 8 MiB, with at most 100,000 entries.
  ///   - url: the playlist's URL after redirects, to which entries are relative. Only a playlist
  ///     that is itself a file can name files: one from the network cannot make files open.
  ///   - mimeType: the MIME type that the origin reported.
  /// - Throws: `MediaCacheError` with code `.invalidResponse` if it is not a playlist, exceeds a
  ///   limit, or is an HTTP Live Stream, whose URL plays as one `Media`.
  public init(_ bytes: Data, from url: URL, mimeType: String? = nil) throws(MediaCacheError) {
    guard bytes.count <= Self.byteLimit else {
      throw MediaCacheError(
        .invalidResponse, "The playlist has \(bytes.count) bytes; the limit is \(Self.byteLimit).",
        remedy: "Split it into several playlists.")
    }
    let name = Self.format(of: url, mimeType: mimeType)
    let text = try PlaylistText.decoded(
      bytes, isUTF8: url.pathExtension.lowercased() == "m3u8" && name == .m3u)
    let start = text[...].drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    guard start.first != "<" else {
      throw MediaCacheError(
        .invalidResponse, "The file is XML or HTML, and is not a playlist.",
        remedy: "Check that the URL is the playlist's, and not that of a page that shows it.")
    }
    var reading = PlaylistReading(from: url)
    switch Format(beginning: start) ?? name {
    case .m3u: try reading.readM3U(text)
    case .pls: try reading.readPLS(text)
    case nil:
      throw MediaCacheError(
        .invalidResponse, "Neither the name nor the first bytes identify a playlist.",
        remedy: "Use a playlist in the format M3U or PLS.")
    }
    title = reading.title
    entries = reading.entries
    skipped = reading.skipped
  }

  /// Returns the playlist as text, to be written to a file in UTF-8.
  public func text(as format: Format) -> String {
    switch format {
    case .m3u: m3u
    case .pls: pls
    }
  }
}
