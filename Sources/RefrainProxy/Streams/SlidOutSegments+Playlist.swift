// SPDX-License-Identifier: MIT
import Foundation
import Refrain

extension SlidOutSegments.Version {
  /// Reads a version of a live media playlist; nil if the body is none.
  ///
  /// - Parameters:
  ///   - url: the URL to which references are relative.
  ///   - requested: the URL of the request, with delivery directives (`_HLS_msn`) if it has any.
  ///   - stream: the key of the first manifest of its stream.
  ///   - imported: the variables of the multivariant playlist that names this one.
  ///   - key: returns the key of a URL.
  init?(
    _ body: [UInt8], url: URL, requested: URL, of stream: CacheKey, imported: [String: String],
    key: (URL) -> CacheKey
  ) {
    let name = requested.textWithoutDeliveryDirectives
    playlist = CacheKey(rawValue: name)
    own = name == requested.absoluteString ? nil : key(requested)
    // Before another manifest named it, the playlist was the first one of a stream.
    streams = [stream, key(requested.withoutDeliveryDirectives)]
    guard let media = HLSMediaPlaylist(body, url: url, imported: imported) else { return nil }
    targetDuration = media.targetDuration
    if media.segments.count > Self.mostSegments {
      (mediaSequence, keepsAll, resources) = (0, true, [])
      return
    }
    mediaSequence = media.mediaSequence
    skippedSegments = media.skippedSegments
    keepsAll = media.isEnded || media.type != nil
    resources = []
    var (sequence, overflowed) = mediaSequence.addingReportingOverflow(skippedSegments)
    guard !overflowed else { return nil }
    for reference in HLSReferences(of: body, url: url, imported: imported).references {
      if reference.kind == .initialization || reference.kind == .key,
        let resource = URL(text: reference.text, relativeTo: url),
        WebURL(resource.absoluteString) != nil
      {
        others.append(key(resource))
      }
      guard [.segment, .part, .preloadHint].contains(reference.kind) else { continue }
      defer { if reference.kind == .segment, sequence < .max { sequence += 1 } }
      guard let resource = URL(text: reference.text, relativeTo: url),
        WebURL(resource.absoluteString) != nil
      else { continue }
      if reference.kind != .segment, !media.isEnded, growing.last != resource {
        growing.append(resource)
      }
      if reference.kind == .preloadHint { continue }
      resources.append(
        Resource(key: key(resource), sequence: sequence, isPart: reference.kind == .part))
    }
  }

  /// A longer playlist, of many hours, is as good as one that only grows.
  private static let mostSegments = 8192
}
