// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Reads the picture in a media that plays: of a file directly, otherwise through the cache, where
/// its beginning is stored by then. Bytes that are missing are part of what is to play: they are
/// requested once, and only if they are stored.
struct PictureLookup: Sendable {
  struct Answer: Sendable, Hashable {
    /// The picture, as a file of it would be; nil: there is none that desktops show.
    var picture: Data?
    /// Whether bytes were missing that are not requested: once all of the media is stored, another
    /// look may find a picture.
    var isPartial = false
  }

  let cache: MediaCache
  let subject: TagSubject

  private static let scan = MediaScan<[UInt8]>(
    limits: ScanLimits(
      // Ogg is read page by page.
      step: 16 << 10, longestStep: 1 << 20, mostBytes: 12 << 20, mostSteps: 64,
      mostAtOnce: EmbeddedPicture.mostAtOnce),
    isPlaying: true,
    parse: { bytes throws(TagBytes.Missing) in try EmbeddedPicture.picture(in: bytes) })

  /// Gives way to the player. Returns no picture for a media that cannot be read.
  ///
  /// - Throws: `CancellationError`.
  func run() async throws -> Answer {
    do {
      let outcome = try await Self.scan.run(subject, in: cache)
      return Answer(picture: outcome.found.map { Data($0) }, isPartial: outcome.isPartial)
    } catch {
      try Task.checkCancellation()
      return Answer(isPartial: true)
    }
  }
}
