// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV

  /// What is watched of libmpv, by mpv's name for it (mpv(1), "Property list").
  enum MPVProperty: String, CaseIterable {
    case position = "time-pos"
    case duration
    /// Up to where it is decoded ahead.
    case buffered = "demuxer-cache-time"
    case isWaiting = "paused-for-cache"
    case metadata

    var format: mpv_format {
      switch self {
      case .position, .duration, .buffered: MPV_FORMAT_DOUBLE
      case .isWaiting: MPV_FORMAT_FLAG
      case .metadata: MPV_FORMAT_NODE
      }
    }
  }
#endif
