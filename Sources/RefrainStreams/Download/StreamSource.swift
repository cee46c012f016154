// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// The first manifest of a stream.
package struct StreamSource: Sendable {
  package enum Content: Sendable {
    /// HLS.
    case multivariant(HLSMultivariantPlaylist)
    /// HLS of one quality.
    case media(HLSMediaPlaylist)
    /// DASH.
    case presentation(DASHPresentation)
  }

  /// After redirects.
  package var url: URL
  package var content: Content
  /// The bytes of the manifest.
  let body: [UInt8]

  /// Nil if the body is no manifest of a stream: a list of songs has no tags of HLS.
  ///
  /// - Throws: `MediaCacheError`, if the body is an MPD that does not describe the stream itself,
  ///   or a playlist that cannot be read completely, or begins as a manifest and is damaged.
  package init?(_ manifest: StoredManifest) async throws(MediaCacheError) {
    let content: Content?
    if Manifest.mayTakeLong(manifest.body) {
      content = try await IOThreads.background.run { () throws(MediaCacheError) in
        try Self.content(of: manifest)
      }
    } else {
      content = try Self.content(of: manifest)
    }
    guard let content else { return nil }
    (url, self.content, body) = (manifest.url, content, manifest.body)
  }

  private static func content(of manifest: StoredManifest) throws(MediaCacheError) -> Content? {
    let (body, url) = (manifest.body, manifest.url)
    if let playlist = try HLSMultivariantPlaylist.read(body, url: url) {
      return .multivariant(playlist)
    }
    if let playlist = try HLSMediaPlaylist.read(body, url: url) { return .media(playlist) }
    do throws(DASHProblem) {
      if let presentation = try DASHPresentation(body, url: url) {
        return .presentation(presentation)
      }
    } catch {
      throw error.error(at: url)
    }
    if let flaw = ManifestFlaw(body) { throw flaw.error(at: url) }
    return nil
  }

  /// The qualities of the stream: of DASH those of its longest period; none of a single playlist.
  package var variants: [StreamVariant] {
    switch content {
    case .multivariant(let playlist): playlist.variants.map { StreamVariant($0) }
    case .media: []
    case .presentation(let presentation):
      presentation.mainPeriod?.variants.map { StreamVariant($0) } ?? []
    }
  }

  /// The tracks of the stream: of DASH those of its longest period.
  package var renditions: [StreamRendition] {
    switch content {
    case .multivariant(let playlist): playlist.renditions.map { StreamRendition($0) }
    case .media: []
    case .presentation(let presentation):
      presentation.mainPeriod.map { ($0.audio + $0.subtitles).map(\.rendition) } ?? []
    }
  }
}

extension DASHProblem {
  /// - Parameter url: of the MPD.
  func error(at url: URL) -> MediaCacheError {
    MediaCacheError(
      .invalidResponse,
      "\(url.withoutUserInfo.absoluteString) is a DASH stream that cannot be fetched as a whole: "
        + reason,
      remedy: "Play it, or use the stream's HLS playlist if it has one.")
  }
}
