// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain

  /// Streams (HLS, DASH), which libmpv's demuxer reads itself.
  extension MPVLoop {
    /// Handles the opening of a stream, before any of it is read. At this point the duration is
    /// that of the manifest: a live stream has none.
    func openedStream(_ playback: MPVPlayback) {
      let seconds = number(MPVProperty.duration.rawValue) ?? 0
      playback.openedStream(lasting: seconds <= 0 ? nil : .seconds(seconds))
    }

    /// Goes to the start of an HLS stream by loading it again. Returns false for other media and
    /// positions.
    ///
    /// ffmpeg's demuxer of HLS refuses positions before the first packet that it has read, which is
    /// not the earliest where the sound begins a moment before the picture. libmpv would then
    /// continue from where it reads, or end.
    func returnToStart(of playback: MPVPlayback, for position: Duration) -> Bool {
      guard position < .milliseconds(100), playback.item.streamURL != nil,
        text("file-format") == "hls"
      else { return false }
      playback.noteStream(position: .zero)
      loadAgain(playback)
      return true
    }

    /// Returns the error of a stream that broke off; nil: it did not. libmpv's demuxer leaves out
    /// segments that cannot be read, so without a network it soon reports the end.
    func interruption(of playback: MPVPlayback) -> MediaCacheError? {
      // An output file is written faster than positions are reported.
      if case .wavFile = output { return nil }
      guard playback.isStreamIncomplete else { return nil }
      return MediaCacheError(
        .unreachable,
        "The stream \(playback.item.media.url.withoutUserInfo.absoluteString) broke off.",
        remedy: "Check the network.")
    }
  }
#endif
