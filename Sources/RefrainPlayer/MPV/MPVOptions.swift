// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// How libmpv is set up: as a decoder with a sound device, and nothing else.
  enum MPVOptions {
    static func all(output: AudioOutput) -> [(name: String, value: String)] {
      alone + soundOnly + bytes + following + audio(output)
    }

    /// No file of the user's, no terminal, no script, and idle while nothing is loaded.
    private static let alone = [
      ("config", "no"), ("terminal", "no"), ("input-terminal", "no"),
      ("input-default-bindings", "no"), ("input-vo-keyboard", "no"), ("load-scripts", "no"),
      ("load-auto-profiles", "no"), ("load-osd-console", "no"), ("load-stats-overlay", "no"),
      ("osc", "no"), ("ytdl", "no"), ("resume-playback", "no"), ("idle", "yes"),
    ]

    private static let soundOnly = [
      ("vid", "no"), ("sid", "no"), ("audio-display", "no"), ("hr-seek", "yes"),
    ]

    /// Bytes come through Refrain alone: a file that refers to others (a playlist, a chapter
    /// elsewhere) would make mpv fetch those by itself. And caching is done in one place: mpv holds
    /// only the seconds it decodes from, keeps nothing of what was played, and pauses where it has
    /// run out of them.
    private static let bytes = [
      ("access-references", "no"), ("autoload-files", "no"),
      ("cache", "yes"), ("cache-secs", "10"), ("cache-pause", "yes"), ("cache-pause-wait", "0.5"),
      ("demuxer-seekable-cache", "no"), ("demuxer-readahead-secs", "2"),
      ("demuxer-max-bytes", "4MiB"), ("demuxer-max-back-bytes", "0"),
    ]

    /// One item after the other without a gap, where they have one format.
    private static let following = [("gapless-audio", "weak"), ("prefetch-playlist", "yes")]

    private static func audio(_ output: AudioOutput) -> [(name: String, value: String)] {
      switch output {
      case .device:
        [("audio-fallback-to-null", "yes")]
      case .silent:
        [("ao", "null")]
      case .wavFile(let file):
        [
          ("ao", "pcm"), ("ao-pcm-file", file.path(percentEncoded: false)),
          ("ao-pcm-waveheader", "yes"), ("audio-fallback-to-null", "no"),
        ]
      }
    }
  }
#endif
