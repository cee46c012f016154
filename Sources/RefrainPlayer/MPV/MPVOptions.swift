// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// The options of libmpv: a decoder with a sound device, and nothing else. `MPVVideoOptions` has
  /// those that show video.
  enum MPVOptions {
    static func all(output: AudioOutput) -> [(name: String, value: String)] {
      alone + soundOnly + bytes + following + audio(output)
    }

    /// No user configuration, no terminal, no scripts; idle while nothing is loaded.
    private static let alone = [
      ("config", "no"), ("terminal", "no"), ("input-terminal", "no"),
      ("input-default-bindings", "no"), ("input-vo-keyboard", "no"), ("load-scripts", "no"),
      ("load-auto-profiles", "no"), ("load-osd-console", "no"), ("load-stats-overlay", "no"),
      ("osc", "no"), ("ytdl", "no"), ("resume-playback", "no"), ("idle", "yes"),
    ]

    private static let soundOnly = [
      ("vid", "no"), ("sid", "no"), ("audio-display", "no"), ("hr-seek", "yes"),
    ]

    /// Bytes come only through Refrain (see also `stream`): mpv must not fetch files that another
    /// one refers to (a playlist's entries, a chapter elsewhere). Only Refrain caches: mpv holds
    /// the few seconds that it decodes from, keeps nothing already played but of live streams
    /// (`keeping`), and pauses when it runs out.
    private static let bytes = [
      ("access-references", "no"), ("autoload-files", "no"),
      ("cache", "yes"), ("cache-secs", "10"), ("cache-pause", "yes"), ("cache-pause-wait", "0.5"),
      ("demuxer-seekable-cache", "no"), ("demuxer-readahead-secs", "2"),
      ("demuxer-max-bytes", "4MiB"), ("demuxer-max-back-bytes", "0"),
    ]

    /// The options of a file that is a stream, which libmpv's own demuxer reads by HTTP from a
    /// local proxy. Only the demuxers of streams may open what a manifest refers to, and only by
    /// protocols that reach the proxy: no files, and no TLS, which it does not speak.
    ///
    /// Nobody else reads ahead in a stream, so libmpv does, by more than a segment. `none` is not a
    /// proxy's URL: `http_proxy` in the environment is for other hosts.
    static let stream = [
      ("access-references", "yes"), ("demuxer", "lavf"), ("stream-lavf-o", "http_proxy=none"),
      ("demuxer-lavf-o", "http_proxy=none,protocol_whitelist=[http,tcp,crypto,data]"),
      ("hls-bitrate", "max"), ("cache-secs", "30"), ("demuxer-max-bytes", "\(streamSize)"),
    ]

    private static let streamSize: Int64 = 32 << 20

    /// The options of a live stream of which libmpv keeps a part, also while it is paused. What was
    /// heard takes the room that what is ahead does not need (`demuxer-donate-buffer`), so that
    /// both together take no more than `size`; libmpv gives that room only if some is set aside.
    ///
    /// - Parameters:
    ///   - size: in bytes, with libmpv's own for each packet.
    ///   - isStream: whether it has segments, of which several must find room.
    static func keeping(_ size: Int64, isStream: Bool) -> [(name: String, value: String)] {
      [
        ("demuxer-seekable-cache", "yes"), ("cache-secs", "1000000"),
        ("demuxer-max-bytes", "\(max(size, isStream ? streamSize : 0))"),
        ("demuxer-max-back-bytes", "1"), ("demuxer-donate-buffer", "yes"),
      ]
    }

    /// Items follow each other without a gap if their formats match.
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
