// SPDX-License-Identifier: MIT
package import Foundation

/// The reason why a playlist of HLS cannot be read completely. A part of it would play as if the
/// stream ended there.
package enum HLSProblem: Error, Sendable, Hashable {
  /// Its references, with the values of their variables, are too long (`HLSVariables`).
  case isTooLong

  /// - Parameter url: of the playlist.
  package func error(at url: URL) -> MediaCacheError {
    MediaCacheError(
      .invalidResponse,
      "\(url.withoutUserInfo.absoluteString) cannot be read: its references, with the values of "
        + "their variables (EXT-X-DEFINE), are too long.",
      remedy: "Play the stream from its origin.")
  }
}
