// SPDX-License-Identifier: MIT
import Foundation
public import Refrain

extension ResourcePolicy {
  /// The policy for media that may be streams: manifests are documents, used for no longer than they
  /// say, and decoded if they come compressed.
  public static let streams = ResourcePolicy(documents: StreamDocuments())
}

/// Manifests as documents.
final class StreamDocuments: DocumentRules {
  let longest = Manifest.longest

  // RFC 8216 §4; the MPD's type is in ISO/IEC 23009-1
  let fileExtensions = [
    "application/vnd.apple.mpegurl": "m3u8", "application/x-mpegurl": "m3u8",
    "audio/mpegurl": "m3u8", "audio/x-mpegurl": "m3u8", "application/dash+xml": "mpd",
  ]

  func isDocument(mimeType: String?, url: URL) -> Bool {
    Manifest.isNamed(mimeType: mimeType, url: url)
  }

  func mayBeUnnamed(mimeType: String?) -> Bool {
    Manifest.mayBeUnnamed(mimeType: mimeType, length: nil)
  }

  func isHeldBack(_ url: URL) -> Bool { Manifest.isBlockingReload(url) }

  func pace(at url: URL, beginning: Data, whole: () -> Data?) -> UpdatePace? {
    guard Manifest.mayBegin(with: beginning), let body = whole() else { return nil }
    return Manifest.pace(of: body, isBlockingReload: Manifest.isBlockingReload(url))
  }

  func decoder(of coding: String) -> DocumentDecoder? {
    guard let coding = ContentCoding(coding), coding.isAvailable else { return nil }
    return { body, limit throws(DocumentFault) in try coding.decode(body, limit: limit) }
  }
}

extension CacheKeyRule {
  /// Creates a rule as `init(ignoring:keeping:)` that ignores no parameter which selects a part of a
  /// live stream (`_HLS_*`, draft-pantos-hls-rfc8216bis §6.2.5).
  ///
  /// - Parameter names: the names to ignore on every host.
  public static func forStreams(ignoring names: [String] = []) -> CacheKeyRule {
    CacheKeyRule(ignoring: names, keeping: ["_HLS_*"])
  }
}
