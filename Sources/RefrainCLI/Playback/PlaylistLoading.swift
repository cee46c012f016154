// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

/// The media that the arguments of `play` name.
struct PlaylistLoading: Sendable {
  private(set) var media: [Media] = []
  /// Playlists that could not be read.
  private(set) var failures: [(url: URL, error: MediaCacheError)] = []
  /// Playlist entries that cannot be played, each with the reason.
  private(set) var skipped: [String] = []

  /// More bytes than any playlist that can be read.
  private static let byteLimit: Int64 = 16 << 20

  /// Takes files and URLs as they are, and expands playlists; those on the network are read through
  /// the cache. The playlist of an HTTP Live Stream is one item.
  ///
  /// - Throws: `CancellationError`.
  init(of urls: [URL], options: GlobalOptions, from cache: MediaCache) async throws {
    for url in urls {
      if let problem = PlayArgument.problem(with: url) {
        failures.append((url, problem))
        continue
      }
      guard Playlist.format(of: url) != nil else {
        media.append(Media(url, headers: options.fields))
        continue
      }
      do {
        let read = try await Self.read(url, options, cache)
        guard let playlist = read else {
          media.append(Media(url, headers: options.fields))
          continue
        }
        let (entries, refusals) = Self.playable(playlist)
        skipped += refusals.map { "\(URLArgument.name(of: url)): \($0)" }
        guard !entries.isEmpty else { throw Self.nothingToPlay(in: url, refusals.count) }
        media += entries.map { entry in
          var entry = entry
          // Headers meant for one server are not sent to others that its playlist names, nor to one
          // that it redirects to.
          if url.isFileURL || url.isSameOrigin(as: entry.url) {
            entry.headers = options.fields
          }
          return entry
        }
      } catch let error as MediaCacheError {
        failures.append((url, error))
      }
      try Task.checkCancellation()
    }
  }

  /// Returns the entries that are not playlists themselves, and why the others are left out. An
  /// entry on the network that ends in `.m3u8` is usually a stream; the player looks at it when its
  /// turn comes.
  private static func playable(_ playlist: Playlist) -> (entries: [Media], refusals: [String]) {
    let isPlaylist: (Media) -> Bool = { entry in
      let mayBeStream = !entry.url.isFileURL && entry.url.pathExtension.lowercased() == "m3u8"
      return !mayBeStream && Playlist.format(of: entry.url) != nil
    }
    let nested = playlist.entries.filter(isPlaylist).map { entry in
      "“\(URLArgument.name(of: entry.url))” is itself a playlist, and a playlist in a playlist is "
        + "not read. Play it by its own URL: \(entry.url.withoutUserInfo.absoluteString)"
    }
    return (playlist.entries.filter { !isPlaylist($0) }, playlist.skipped + nested)
  }

  private static func nothingToPlay(in url: URL, _ refusals: Int) -> MediaCacheError {
    refusals == 0
      ? MediaCacheError(
        .invalidResponse, "The playlist is empty.",
        remedy: "Check that it is the right one: it lists no media.")
      : MediaCacheError(
        .invalidResponse, "The playlist lists nothing that can be played.",
        remedy: "The lines above give the reason for each entry.")
  }

  /// Returns the playlist; nil if the URL is that of a stream.
  private static func read(
    _ url: URL, _ options: GlobalOptions, _ cache: MediaCache
  ) async throws -> Playlist? {
    guard !url.isFileURL else {
      let file: Data
      do {
        // Any file may have a playlist's name: read no more than a playlist can contain.
        file =
          try FileHandle(forReadingFrom: url).read(upToCount: Int(Self.byteLimit)) ?? Data()
      } catch {
        throw MediaCacheError(
          .storage, "The playlist could not be read: \(error.localizedDescription)",
          remedy: "Check the file and its permissions.")
      }
      return try Playlist(file, from: url)
    }
    let reader = try await cache.open(options.resource(url), fill: .wholeResource)
    defer { reader.cancel() }
    let information = try await reader.contentInformation()
    var bytes = Data()
    // Parsing reports a longer one as an error.
    for try await chunk in reader.chunks(in: 0..<min(information.length ?? byteLimit, byteLimit)) {
      bytes.append(chunk)
    }
    if StreamKind(beginning: bytes) != nil { return nil }
    return try Playlist(bytes, from: information.finalURL, mimeType: information.mimeType)
  }
}

extension URL {
  /// Whether scheme, host and port are equal (RFC 6454 §4).
  fileprivate func isSameOrigin(as other: URL) -> Bool {
    func port(_ url: URL) -> Int? { url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) }
    return scheme?.lowercased() == other.scheme?.lowercased()
      && host()?.lowercased() == other.host()?.lowercased() && port(self) == port(other)
  }
}
