// SPDX-License-Identifier: MIT

/// A property of the player, by mpv's name for it.
enum ControlProperty: String, Sendable, Hashable, CaseIterable {
  case pause, volume, mute, speed, duration, playlist, shuffle, aid, sid, vid, fullscreen, path
  case timePosition = "time-pos"
  case percentPosition = "percent-pos"
  case playlistPosition = "playlist-pos"
  case playlistCount = "playlist-count"
  case title = "media-title"
  case loopsPlaylist = "loop-playlist"
  case loopsFile = "loop-file"
  case tracks = "track-list"
  case isIdle = "idle-active"
  case audioDevice = "audio-device"
  /// Looked up when it is asked for: as long as nobody does, no sound server is asked.
  case audioDevices = "audio-device-list"

  static var names: String { allCases.map(\.rawValue).sorted().joined(separator: ", ") }

  /// How often a change is sent at most: positions change all the time.
  var pace: Duration {
    switch self {
    case .timePosition, .percentPosition: .milliseconds(250)
    default: .zero
    }
  }
}
