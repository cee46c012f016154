// SPDX-License-Identifier: MIT
import Foundation
import Refrain

extension SlidOutSegments.Version {
  /// Reads a version of a live media playlist or an MPD; nil if the body is none.
  init?(
    reading body: [UInt8], url: URL, requested: URL, of stream: CacheKey,
    imported: [String: String], at time: Double, key: (URL) -> CacheKey
  ) {
    if let version = Self(
      body, url: url, requested: requested, of: stream, imported: imported, key: key)
    {
      self = version
    } else if let version = Self(
      description: body, url: url, requested: requested, of: stream, at: time, key: key)
    {
      self = version
    } else {
      return nil
    }
  }

  /// Reads a version of an MPD; nil if the body is none, or does not describe the stream itself.
  ///
  /// A patch is none: a client that receives patches requests the MPD only once.
  ///
  /// - Parameters:
  ///   - url: the URL to which references are relative.
  ///   - requested: the URL of the request.
  ///   - stream: the key of the first manifest of its stream.
  ///   - time: when a client was given it, in seconds since 1970.
  ///   - key: returns the key of a URL.
  init?(
    description body: [UInt8], url: URL, requested: URL, of stream: CacheKey, at time: Double,
    key: (URL) -> CacheKey
  ) {
    guard let presentation = try? DASHPresentation(body, url: url) else { return nil }
    playlist = CacheKey(rawValue: requested.absoluteString)
    streams = [stream, key(requested)]
    (mediaSequence, targetDuration, resources) = (0, 0, [])
    guard let window = try? presentation.window(at: time, atMost: Self.mostOfDescription) else {
      keepsAll = true
      return
    }
    targetDuration = window.longestSegment
    // What is unknown may be needed.
    keepsAll = !presentation.isDynamic || !window.isWhole
    namesAll = !presentation.hasAlternatives
    pace = presentation.isDynamic ? window.pace : nil
    resources = window.segments.map {
      // Those of all Representations leave in the order of playing.
      Resource(key: key($0.url), sequence: Int64(min($0.time * 1000, 1e15)))
    }
    others = window.others.map(key)
  }

  /// Longer MPDs are as good as those that only grow.
  private static let mostOfDescription: Int64 = 8192
}
