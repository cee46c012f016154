// SPDX-License-Identifier: MIT
#if os(Linux)
  import RefrainPlayer

  /// Whether `play` shows video. A pure value.
  struct VideoChoice: Sendable, Hashable {
    /// `--audio-only`.
    var isSoundOnly = false
    /// `--audio-output`: the sound is written as fast as it can be decoded.
    var hasOutputFile = false
    /// `--window`.
    var showsCovers = false
    /// Nil: no window can be opened.
    var display: Display?

    var showsVideo: Bool { !isSoundOnly && !hasOutputFile && display != nil }

    var configuration: VideoConfiguration {
      var video = showsVideo ? VideoConfiguration.window : .none
      video.showsCovers = showsVideo && showsCovers
      // The panel's list of programs that play needs them for sound too.
      (video.applicationID, video.applicationName) = ("refrain", "Refrain")
      return video
    }

    /// Whether to report that pictures and subtitles are missing because there is no display.
    var reportsMissingDisplay: Bool { !isSoundOnly && !hasOutputFile && display == nil }

    static let missingDisplayText =
      "No display was found: playing only the sound, without pictures and subtitles. "
      + "--audio-only omits this line."
  }
#endif
