// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV

  /// The observed properties of libmpv, by mpv's names (mpv(1), "Property list").
  enum MPVProperty: String, CaseIterable {
    case position = "time-pos"
    case duration
    /// The time up to which packets are buffered.
    case buffered = "demuxer-cache-time"
    case isWaiting = "paused-for-cache"
    case metadata
    case tracks = "track-list"
    // Those that the listener changes by the controller in the window.
    case isPaused = "pause"
    case volume
    case isMuted = "mute"
    // Those of the window.
    case hasWindow = "vo-configured"
    case isFullscreen = "fullscreen"

    var isOfListener: Bool {
      switch self {
      case .isPaused, .volume, .isMuted: true
      default: false
      }
    }

    var isOfWindow: Bool { self == .hasWindow || self == .isFullscreen }

    var format: mpv_format {
      switch self {
      case .position, .duration, .buffered, .volume: MPV_FORMAT_DOUBLE
      case .isWaiting, .isPaused, .isMuted, .hasWindow, .isFullscreen: MPV_FORMAT_FLAG
      case .metadata, .tracks: MPV_FORMAT_NODE
      }
    }
  }
#endif
