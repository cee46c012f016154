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

    var format: mpv_format {
      switch self {
      case .position, .duration, .buffered: MPV_FORMAT_DOUBLE
      case .isWaiting: MPV_FORMAT_FLAG
      case .metadata: MPV_FORMAT_NODE
      }
    }
  }
#endif
