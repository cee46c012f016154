// SPDX-License-Identifier: MIT
import Foundation
import Refrain

extension MediaCacheError {
  /// The error of a stream for which the player has no URL.
  init(noURLFor kind: StreamKind, at url: URL) {
    self.init(
      .invalidResponse,
      "\(url.withoutUserInfo.absoluteString) is \(kind.name), and the player has no proxy for it.",
      remedy: "Set Player.Configuration.streams, with the URLs of CacheProxy of RefrainProxy.")
  }

  /// Wraps the error of a lookup.
  init(lookingUp url: URL, _ error: any Error) {
    self =
      error as? MediaCacheError
      ?? MediaCacheError(
        .storage, "The player has no URL for \(url.withoutUserInfo.absoluteString): \(error)",
        remedy: "Check the local proxy.")
  }

  /// The error of a stream whose remaining segments the origin does not have.
  init(segmentsMissingIn url: URL, _ failure: MediaCacheError) {
    self = failure
    reason =
      "The next segments of the stream \(url.withoutUserInfo.absoluteString) are missing: "
      + failure.reason
  }

  /// The error of a live stream whose broadcast seems to be over.
  ///
  /// - Parameter failure: the engine's last error.
  init(standingStill url: URL, _ failure: MediaCacheError) {
    self.init(
      .invalidResponse,
      "The live stream \(url.withoutUserInfo.absoluteString) broke off again, and nothing shows "
        + "that its broadcast goes on. The last error: \(failure.reason)",
      remedy: "Play it again when it is on the air.")
  }

  /// The error of a live stream that ended although its playlist does not state an end.
  init(brokenOff url: URL) {
    self.init(
      .unreachable, "The live stream \(url.withoutUserInfo.absoluteString) broke off.",
      remedy: "Check the network.")
  }
}
