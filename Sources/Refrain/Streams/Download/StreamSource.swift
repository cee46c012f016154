// SPDX-License-Identifier: MIT
package import Foundation

/// The first playlist of an HLS stream.
package struct StreamSource: Sendable {
  package enum Playlist: Sendable {
    case multivariant(HLSMultivariantPlaylist)
    case media(HLSMediaPlaylist)
  }

  /// After redirects.
  package var url: URL
  package var playlist: Playlist

  /// Nil if the body is no playlist of a stream: a list of songs has no tags of HLS.
  ///
  /// - Throws: `MediaCacheError`, if the body is the manifest of a DASH stream.
  package init?(_ manifest: StoredManifest) throws {
    url = manifest.url
    if let playlist = HLSMultivariantPlaylist(manifest.body, url: url) {
      self.playlist = .multivariant(playlist)
    } else if let playlist = HLSMediaPlaylist(manifest.body, url: url) {
      self.playlist = .media(playlist)
    } else if DASHReferences(of: manifest.body, url: url) != nil {
      throw MediaCacheError(
        .invalidResponse,
        "\(url.withoutUserInfo.absoluteString) is a DASH stream, which cannot be fetched as a "
          + "whole: only HTTP Live Streams (HLS) can.",
        remedy: "Play it, or use the stream's HLS playlist if it has one.")
    } else {
      return nil
    }
  }
}

extension HLSMediaPlaylist {
  /// Whether the origin may add or remove segments.
  package var isLive: Bool { !isEnded && type != .vod }
}

/// The whole body of a manifest.
package struct StoredManifest: Sendable {
  package var body: [UInt8]
  /// After redirects.
  package var url: URL
}
