// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer
  import RefrainStreams

  /// Names the kind of an item that could not be played because it is not media.
  struct Diagnosis: Sendable {
    let cache: MediaCache

    /// Returns the same error, or a better one if the first bytes show the kind of the item.
    func error(_ error: MediaCacheError, of media: Media) async -> MediaCacheError {
      guard error.code == .invalidResponse, error.status == nil,
        let beginning = await beginning(of: media), let kind = ContentKind(beginning: beginning)
      else { return error }
      if kind == .dashManifest || kind == .liveStream, let flaw = await flaw(of: media) {
        return flaw.error(at: media.url)
      }
      // A stream can be played: the error says why this one is not.
      if !media.url.isFileURL, StreamKind(beginning: beginning) != nil { return error }
      let address =
        media.url.isFileURL
        ? media.url.path(percentEncoded: false) : media.url.withoutUserInfo.absoluteString
      return MediaCacheError(
        error.code, "\(address) is \(kind.name), not media.", remedy: kind.remedy)
    }

    /// Returns the first bytes of the file, or of the stored part; makes no request.
    private func beginning(of media: Media) async -> Data? {
      guard let resource = media.resource else {
        return media.url.isFileURL ? await Self.read(media.url, ContentKind.length) : nil
      }
      // If the stored bytes cannot be read, the error stays as it is.
      guard let entry = try? await cache.entry(for: cache.key(for: resource)),
        let stored = entry.spans.ranges.first, stored.lowerBound == 0
      else { return nil }
      return await Self.read(entry.file, Int(min(stored.upperBound, Int64(ContentKind.length))))
    }

    /// Returns the reason why a file or a stored manifest cannot be read; makes no request.
    private func flaw(of media: Media) async -> ManifestFlaw? {
      let body: [UInt8]?
      if let resource = media.resource {
        body = await cache.storedManifest(for: cache.key(for: resource))?.body
      } else {
        let data = media.url.isFileURL ? await Self.read(media.url, Int(Manifest.longest)) : nil
        body = data.map { [UInt8]($0) }
      }
      guard let body else { return nil }
      return await IOThreads.background.run { ManifestFlaw(body) }
    }

    /// Returns nil for what is not an ordinary file: a pipe would wait for a writer.
    private static func read(_ file: URL, _ count: Int) async -> Data? {
      await IOThreads.background.run {
        // If it cannot be read, the error stays as it is.
        guard let file = (try? RegularFile(file)) ?? nil else { return nil }
        return Data(file.bytes(in: 0..<min(file.length, Int64(count))))
      }
    }
  }

  /// The kind of a resource that is not media, detected from its first bytes. A pure value.
  enum ContentKind: Sendable, Hashable {
    case webPage, playlist, liveStream, dashManifest, json

    /// The number of bytes examined.
    static let length = 4096

    /// Returns nil for any other content.
    init?(beginning bytes: some Sequence<UInt8>) {
      let text = String(decoding: Array(bytes.prefix(Self.length)), as: UTF8.self)
      let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }.lowercased()
      if start.hasPrefix("#extm3u"), start.contains("#ext-x-") {
        self = .liveStream
      } else if start.hasPrefix("<") {
        // The first element decides; a declaration, comments and a document type precede it.
        let names: [(String, ContentKind)] = [
          ("html", .webPage), ("playlist", .playlist), ("mpd", .dashManifest),
        ]
        guard let name = Self.firstElement(of: start) else { return nil }
        guard let found = names.first(where: { $0.0 == name }) else { return nil }
        self = found.1
      } else if start.hasPrefix("{") || start.hasPrefix("[{") {
        self = .json
      } else {
        return nil
      }
    }

    /// Returns the name of the first element, or `html` if a document type says so.
    private static func firstElement(of text: String) -> String? {
      var rest = text[...]
      while let open = rest.firstIndex(of: "<") {
        rest = rest[rest.index(after: open)...]
        if rest.hasPrefix("!doctype html") { return "html" }
        if rest.hasPrefix("!--") {
          guard let end = rest.firstRange(of: "-->") else { return nil }
          rest = rest[end.upperBound...]
        } else if !rest.hasPrefix("?"), !rest.hasPrefix("!") {
          return String(rest.prefix { !$0.isWhitespace && $0 != ">" && $0 != "/" })
        }
      }
      return nil
    }

    /// The name, as in "… is a web page".
    var name: String {
      switch self {
      case .webPage: "a web page"
      case .playlist: "a playlist"
      case .liveStream: "an HTTP Live Stream (HLS)"
      case .dashManifest: "a DASH manifest"
      case .json: "a JSON document"
      }
    }

    /// The remedy for the user.
    var remedy: String {
      switch self {
      case .webPage: "Use the URL of the media, not of a page that shows it."
      case .playlist: "Use a playlist in the format M3U or PLS."
      case .liveStream, .dashManifest:
        "Use the URL of the whole media, an MP4 or MP3, if the site has one."
      case .json: "Use the URL of the media."
      }
    }
  }
#endif
