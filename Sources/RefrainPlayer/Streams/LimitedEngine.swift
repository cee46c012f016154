// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// An engine with limits that the player has to know when it prepares streams.
@MainActor
protocol LimitedEngine: PlayerEngine {
  /// Whether the engine plays no pictures.
  var isSoundOnly: Bool { get }

  /// Whether the engine plays the variant of the highest bit rate.
  var playsHighestVariant: Bool { get }

  /// Returns the error of a kind of stream that the engine cannot play; nil: it can.
  func refusal(of kind: StreamKind, at url: URL) -> MediaCacheError?
}

extension AVPlayerEngine: LimitedEngine {
  var isSoundOnly: Bool { false }

  var playsHighestVariant: Bool { false }

  func refusal(of kind: StreamKind, at url: URL) -> MediaCacheError? {
    guard kind == .dash else { return nil }
    return MediaCacheError(
      .invalidResponse,
      "\(url.withoutUserInfo.absoluteString) is \(kind.name), which AVPlayer cannot play.",
      remedy: "Play the HLS playlist of the same stream, if its provider has one.")
  }
}

#if os(Linux)
  extension MPVEngine: LimitedEngine {
    var isSoundOnly: Bool { video.output == .none }

    var playsHighestVariant: Bool { true }

    func refusal(of kind: StreamKind, at url: URL) -> MediaCacheError? { nil }
  }
#endif
