// SPDX-License-Identifier: MIT
#if os(Linux)
  /// The interfaces of a media player on the bus: MPRIS 2.2.
  enum MPRISInterface: String, CaseIterable, Sendable {
    case root = "org.mpris.MediaPlayer2"
    case player = "org.mpris.MediaPlayer2.Player"
    case trackList = "org.mpris.MediaPlayer2.TrackList"

    /// The path of the one object that has them.
    static let path = "/org/mpris/MediaPlayer2"
  }

  /// An argument of a method or a signal.
  struct MPRISArgument {
    var name: String
    var signature: String

    init(_ name: String, _ signature: String) {
      self.name = name
      self.signature = signature
    }
  }

  /// A method, by its name on the bus. The names differ between the interfaces.
  enum MPRISMethod: String, CaseIterable, Sendable {
    case raise = "Raise"
    case quit = "Quit"
    case next = "Next"
    case previous = "Previous"
    case pause = "Pause"
    case playPause = "PlayPause"
    case stop = "Stop"
    case play = "Play"
    case seek = "Seek"
    case setPosition = "SetPosition"
    case openURI = "OpenUri"
    case getTracksMetadata = "GetTracksMetadata"
    case addTrack = "AddTrack"
    case removeTrack = "RemoveTrack"
    case goTo = "GoTo"

    var interface: MPRISInterface {
      switch self {
      case .raise, .quit: .root
      case .getTracksMetadata, .addTrack, .removeTrack, .goTo: .trackList
      default: .player
      }
    }

    var arguments: [MPRISArgument] {
      switch self {
      case .seek: [.init("Offset", "x")]
      case .setPosition: [.init("TrackId", "o"), .init("Position", "x")]
      case .openURI: [.init("Uri", "s")]
      case .getTracksMetadata: [.init("TrackIds", "ao")]
      case .addTrack:
        [.init("Uri", "s"), .init("AfterTrack", "o"), .init("SetAsCurrent", "b")]
      case .removeTrack, .goTo: [.init("TrackId", "o")]
      default: []
      }
    }

    var results: [MPRISArgument] {
      self == .getTracksMetadata ? [.init("Metadata", "aa{sv}")] : []
    }
  }

  /// A signal, by its name on the bus.
  enum MPRISSignalName: String, CaseIterable, Sendable {
    case seeked = "Seeked"
    case trackListReplaced = "TrackListReplaced"
    case trackAdded = "TrackAdded"
    case trackRemoved = "TrackRemoved"
    case trackMetadataChanged = "TrackMetadataChanged"

    var interface: MPRISInterface { self == .seeked ? .player : .trackList }

    var arguments: [MPRISArgument] {
      switch self {
      case .seeked: [.init("Position", "x")]
      case .trackListReplaced: [.init("Tracks", "ao"), .init("CurrentTrack", "o")]
      case .trackAdded: [.init("Metadata", "a{sv}"), .init("AfterTrack", "o")]
      case .trackRemoved: [.init("TrackId", "o")]
      case .trackMetadataChanged: [.init("TrackId", "o"), .init("Metadata", "a{sv}")]
      }
    }
  }

  /// A property, by its name on the bus. The names differ between the interfaces.
  enum MPRISProperty: String, CaseIterable, Sendable {
    case canQuit = "CanQuit"
    case isFullscreen = "Fullscreen"
    case canSetFullscreen = "CanSetFullscreen"
    case canRaise = "CanRaise"
    case hasTrackList = "HasTrackList"
    case identity = "Identity"
    case desktopEntry = "DesktopEntry"
    case uriSchemes = "SupportedUriSchemes"
    case mimeTypes = "SupportedMimeTypes"

    case playbackStatus = "PlaybackStatus"
    case loopStatus = "LoopStatus"
    case rate = "Rate"
    case isShuffled = "Shuffle"
    case metadata = "Metadata"
    case volume = "Volume"
    case position = "Position"
    case minimumRate = "MinimumRate"
    case maximumRate = "MaximumRate"
    case canGoNext = "CanGoNext"
    case canGoPrevious = "CanGoPrevious"
    case canPlay = "CanPlay"
    case canPause = "CanPause"
    case canSeek = "CanSeek"
    case canControl = "CanControl"

    case tracks = "Tracks"
    case canEditTracks = "CanEditTracks"

    /// The part of a change that PropertiesChanged reports.
    enum Announcement {
      case value
      /// The client asks for the value if it wants it.
      case invalidation
      case none
    }

    var interface: MPRISInterface {
      switch self {
      case .canQuit, .isFullscreen, .canSetFullscreen, .canRaise, .hasTrackList, .identity,
        .desktopEntry, .uriSchemes, .mimeTypes:
        .root
      case .tracks, .canEditTracks: .trackList
      default: .player
      }
    }

    var signature: String {
      switch self {
      case .identity, .desktopEntry, .playbackStatus, .loopStatus: "s"
      case .uriSchemes, .mimeTypes: "as"
      case .rate, .volume, .minimumRate, .maximumRate: "d"
      case .metadata: "a{sv}"
      case .position: "x"
      case .tracks: "ao"
      default: "b"
      }
    }

    var isWritable: Bool {
      switch self {
      case .isFullscreen, .loopStatus, .rate, .isShuffled, .volume: true
      default: false
      }
    }

    var announcement: Announcement {
      switch self {
      case .position, .canControl: .none
      case .tracks: .invalidation
      default: .value
      }
    }
  }
#endif
