// SPDX-License-Identifier: MIT

/// A property of the player, by mpv's name for it.
enum ControlProperty: String, Sendable, Hashable, CaseIterable {
  case pause, volume, mute, speed, duration, playlist, shuffle, aid, sid, vid, fullscreen, path
  case timePosition = "time-pos"
  case percentPosition = "percent-pos"
  case playlistPosition = "playlist-pos"
  /// Counts from 1.
  case playlistNumber = "playlist-pos-1"
  case playlistCount = "playlist-count"
  case title = "media-title"
  case loopsPlaylist = "loop-playlist"
  case loopsFile = "loop-file"
  case tracks = "track-list"
  case isIdle = "idle-active"
  case audioDevice = "audio-device"
  /// Looked up when it is asked for: as long as nobody does, no sound server is asked.
  case audioDevices = "audio-device-list"
  case metadata, filename, chapter
  case filenameWithoutExtension = "filename/no-ext"
  case chapters = "chapter-list"
  case chapterCount = "chapters"
  case playbackTime = "playback-time"
  case timeRemaining = "time-remaining"
  case playtimeRemaining = "playtime-remaining"
  case isSeekable = "seekable"
  case isSeeking = "seeking"
  case hasReachedEnd = "eof-reached"
  case isCoreIdle = "core-idle"
  case waitsForCache = "paused-for-cache"
  case volumeMaximum = "volume-max"
  case processID = "pid"
  case version = "mpv-version"
  case propertyNames = "property-list"
  case commandNames = "command-list"

  /// mpv's other names of properties.
  private static let aliases: [String: ControlProperty] = [
    "audio": .aid, "sub": .sid, "video": .vid, "loop": .loopsFile,
  ]

  /// - Parameter name: the property's name, or another one that mpv has for it.
  init?(_ name: String) {
    guard let property = Self(rawValue: name) ?? Self.aliases[name] else { return nil }
    self = property
  }

  static var names: String { allCases.map(\.rawValue).sorted().joined(separator: ", ") }

  /// How often a change is sent at most: positions change all the time.
  var pace: Duration {
    switch self {
    case .timePosition, .percentPosition: .milliseconds(250)
    case .playbackTime, .timeRemaining, .playtimeRemaining: .milliseconds(250)
    default: .zero
    }
  }
}
