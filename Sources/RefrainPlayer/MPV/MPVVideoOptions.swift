// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// The options of libmpv that show video. They replace those of `MPVOptions`, which play sound
  /// alone.
  enum MPVVideoOptions {
    /// The title of the window and of the stream at the sound server, and the client's name there,
    /// which also names its icon. Not for video alone: sound servers list those who play.
    static func names(_ video: VideoConfiguration) -> [(name: String, value: String)] {
      [("title", title(video.applicationName))]
        + (video.applicationID.map { [("audio-client-name", $0)] } ?? [])
    }

    static func all(_ video: VideoConfiguration) -> [(name: String, value: String)] {
      let common = [
        ("vid", "auto"), ("sid", "auto"),
        ("audio-display", video.showsCovers ? "embedded-first" : "no"),
        ("hwdec", hasDecoder ? "auto-safe" : "no"),
        // Large films fit the screen.
        ("autofit-larger", "90%x90%"),
        // External subtitles are selected first. Those beside a local file are found by
        // `SidecarSubtitles`.
        ("autoload-files", "yes"), ("sub-auto", "no"), ("audio-file-auto", "no"),
        ("cover-art-auto", "no"),
        // The seconds of `cache-secs` at the highest bit rates.
        ("demuxer-max-bytes", "64MiB"),
      ]
      return switch video.output {
      case .none: []
      case .window: common + [("input-vo-keyboard", "yes")]
      case .embedded(let id): common + [("wid", "\(id)")]
      }
    }

    /// Options that some builds or versions of libmpv lack; they are left out there.
    static func optional(
      _ video: VideoConfiguration, on display: Display?
    ) -> [(name: String, value: String)] {
      guard video.output != .none else { return [] }
      let id = video.applicationID.map { [("x11-name", $0), ("wayland-app-id", $0)] } ?? []
      return id + [
        // Without buttons for the window, of which the one that closes ends libmpv, except where a
        // Wayland compositor draws no title bar. The buttons for libmpv's own list stay: they are
        // inactive as long as it has one entry.
        ("script-opts", "osc-windowcontrols=\(display == .wayland ? "auto" : "no")"),
        // Older versions play what is dropped on the window: `MPVPlaylist.Beginning.foreign`.
        ("drag-and-drop", "no"),
      ]
    }

    /// Returns the options of one file.
    ///
    /// - Parameter subtitles: the addresses of its external subtitles.
    static func file(subtitles: [String]) -> [(name: String, value: String)] {
      // One option: of several of the same name only the last counts.
      let list = subtitles.map { $0.replacing(":", with: "\\:") }.joined(separator: ":")
      return list.isEmpty ? [] : [("sub-files", list)]
    }

    /// Whether there may be a hardware decoder. Without one, libraries write about each that is
    /// missing to standard error.
    private static var hasDecoder: Bool {
      ["/dev/dri", "/dev/nvidiactl"].contains { FileManager.default.fileExists(atPath: $0) }
    }

    /// Returns the template of the title (mpv(1), "Property Expansion").
    private static func title(_ application: String?) -> String {
      let name = (application ?? "mpv").replacing("$", with: "$$")
      return "${?media-title:${media-title} - }\(name)"
    }
  }
#endif
