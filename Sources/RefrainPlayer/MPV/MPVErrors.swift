// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import Refrain

  extension MediaCacheError {
    /// Wraps any error in the type that Refrain throws.
    init(carrying error: any Error) {
      self = error as? MediaCacheError ?? MediaCacheError(.storage, "\(error)")
    }
  }

  extension MPVFunctions {
    /// - Throws: `MPVError` if a call has returned an error.
    func check(_ status: CInt, _ doing: String) throws(MPVError) {
      guard status >= 0 else { throw error(status, doing: doing) }
    }

    /// Returns the error for a failed setup of mpv.
    func error(_ status: CInt, doing what: String) -> MPVError {
      MPVError(
        "libmpv could not \(what): \(text(status)).",
        remedy: "Check that libmpv 0.35 or later is installed completely.")
    }

    /// Returns the error for a resource that mpv gave up on although its bytes could be read.
    func error(_ status: CInt, playing item: EngineItem) -> MediaCacheError {
      let url = item.media.url
      switch mpv_error(rawValue: status) {
      case MPV_ERROR_UNKNOWN_FORMAT where item.streamURL != nil,
        MPV_ERROR_LOADING_FAILED where item.streamURL != nil:
        // The manifest was read before: this may well pass.
        return MediaCacheError(
          .unreachable,
          "No segments of the stream \(url.withoutUserInfo.absoluteString) could be read.",
          remedy: "Check the network, and that the stream plays elsewhere.")
      default: return error(status, playing: url)
      }
    }

    /// Returns the error for a resource at a URL, which is no stream.
    func error(_ status: CInt, playing url: URL) -> MediaCacheError {
      switch mpv_error(rawValue: status) {
      case MPV_ERROR_UNKNOWN_FORMAT, MPV_ERROR_LOADING_FAILED:
        url.isFileURL
          ? notMedia(file: url.path(percentEncoded: false))
          : MediaCacheError(
            .invalidResponse,
            "\(url.withoutUserInfo.absoluteString) is not media that can be played.",
            remedy: "Open it in a browser to see what it is: a page, a playlist, or an error.")
      case MPV_ERROR_NOTHING_TO_PLAY:
        MediaCacheError(
          .invalidResponse, "\(url.withoutUserInfo.absoluteString) contains nothing to play.",
          remedy: "A video without sound plays where there is a display.")
      case MPV_ERROR_VO_INIT_FAILED:
        MediaCacheError(
          .storage, "The video of \(url.withoutUserInfo.absoluteString) could not be shown.",
          remedy: "Check that the program may open windows, and that libmpv works: 'mpv FILE'.")
      case MPV_ERROR_AO_INIT_FAILED:
        MediaCacheError(
          .storage, "The audio output could not be opened.",
          remedy: "Check the sound device, or that the output file can be written.")
      default:
        MediaCacheError(
          .invalidResponse,
          "\(url.withoutUserInfo.absoluteString) could not be played: \(text(status)).",
          remedy: "'refrain verify' checks the stored bytes; 'refrain rm' forces a new fetch.")
      }
    }

    /// Returns the error for a file that libmpv gave up on: a list may name one that does not exist.
    private func notMedia(file path: String) -> MediaCacheError {
      guard FileManager.default.fileExists(atPath: path) else {
        return MediaCacheError(
          .badURL, "\(path) does not exist.",
          remedy: "Check its name, and that its disk is mounted.")
      }
      guard FileManager.default.isReadableFile(atPath: path) else {
        return MediaCacheError(
          .storage, "\(path) may not be read.", remedy: "Check its permissions.")
      }
      return MediaCacheError(
        .invalidResponse, "\(path) is not media that can be played.",
        remedy: "Check what it contains, as with 'file'.")
    }

    private func text(_ status: CInt) -> String { String(cString: error_string(status)) }
  }
#endif
