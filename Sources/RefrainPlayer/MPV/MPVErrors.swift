// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import Refrain

  extension MediaCacheError {
    /// Any error as the one that Refrain throws.
    init(carrying error: any Error) {
      self = error as? MediaCacheError ?? MediaCacheError(.storage, "\(error)")
    }

    /// An error of mpv's while it was set up or told to do something.
    init(mpv status: CInt, doing what: String) {
      let text = String(cString: mpv_error_string(status))
      self.init(
        .usage, "libmpv could not \(what): \(text).",
        remedy: "Check that libmpv 0.35 or later is installed whole.")
    }

    /// Why mpv gave up on a resource whose bytes could be read.
    init(mpv status: CInt, playing url: URL) {
      switch mpv_error(rawValue: status) {
      case MPV_ERROR_UNKNOWN_FORMAT, MPV_ERROR_LOADING_FAILED:
        self.init(
          .invalidResponse,
          "\(url.withoutUserInfo.absoluteString) is not media that can be played.",
          remedy: "Open it in a browser to see what it is: a page, a playlist, or an error.")
      case MPV_ERROR_NOTHING_TO_PLAY:
        self.init(
          .invalidResponse, "\(url.withoutUserInfo.absoluteString) has no sound in it.",
          remedy: "Only sound is played; 'refrain get' stores any file.")
      case MPV_ERROR_AO_INIT_FAILED:
        self.init(
          .storage, "The audio output could not be opened.",
          remedy: "Check the sound device, or that the output file can be written.")
      default:
        let text = String(cString: mpv_error_string(status))
        self.init(
          .invalidResponse, "\(url.withoutUserInfo.absoluteString) could not be played: \(text).",
          remedy: "'refrain verify' checks what is stored; 'refrain rm' makes it be fetched anew.")
      }
    }
  }
#endif
