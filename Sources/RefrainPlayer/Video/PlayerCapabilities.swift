// SPDX-License-Identifier: MIT

/// What an engine supports besides playing.
public struct PlayerCapabilities: Sendable, Hashable {
  /// The kinds of tracks that are listed (`Player.tracks`) and can be selected.
  public var selectableTracks: Set<MediaTrack.Kind>
  /// Whether subtitles of other resources (`Media.subtitles`) are shown.
  public var externalSubtitles: Bool
  /// Whether a window of the engine's own can be opened: there was a display when the engine
  /// started.
  public var window: Bool
  /// Whether video can be shown in a window of the app, by its ID.
  public var embedding: Bool
  /// Whether live sound can be rewound (`Player.Configuration.rewind`).
  public var rewind: Bool

  public init(
    selectableTracks: Set<MediaTrack.Kind> = [], externalSubtitles: Bool = false,
    window: Bool = false, embedding: Bool = false, rewind: Bool = false
  ) {
    self.selectableTracks = selectableTracks
    self.externalSubtitles = externalSubtitles
    self.window = window
    self.embedding = embedding
    self.rewind = rewind
  }

  /// The capabilities of the platform's engine: libmpv on Linux, AVPlayer elsewhere. May connect to
  /// the display: do not call it for every picture.
  public static var ofPlatform: PlayerCapabilities {
    #if os(Linux)
      let display = Display.first
      return PlayerCapabilities(
        selectableTracks: Set(MediaTrack.Kind.allCases), externalSubtitles: true,
        window: display != nil, embedding: display == .x11, rewind: true)
    #else
      return PlayerCapabilities()
    #endif
  }
}
