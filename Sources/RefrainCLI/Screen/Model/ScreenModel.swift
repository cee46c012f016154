// SPDX-License-Identifier: MIT
import RefrainPlayer

/// The whole content of the screen of `play`. A value: two that are equal look the same.
struct ScreenModel: Sendable, Hashable {
  enum Status: Sendable, Hashable {
    case idle, loading, playing, paused, ended
    case buffering(WaitReason)
    case failed(reason: String, remedy: String)

    /// Whether it plays, or will play as soon as possible.
    var isWanted: Bool {
      switch self {
      case .loading, .playing, .buffering: true
      case .idle, .paused, .ended, .failed: false
      }
    }
  }

  enum WaitReason: Sendable, Hashable {
    case bytes, seek
    /// The origin cannot be reached, with the reason.
    case network(String)
  }

  enum Length: Sendable, Hashable {
    case unknown, live
    case known(Duration)
  }

  /// A position in live sound of which a part is kept.
  struct Rewound: Sendable, Hashable {
    /// The distance to the newest sound; nil at the present.
    var behind: Duration?
    /// The position as a fraction of the kept part, 0…1.
    var fraction: Double
  }

  enum SleepTimer: Sendable, Hashable {
    case left(Duration)
    case endOfItem
  }

  struct Message: Sendable, Hashable {
    enum Level: Sendable, Hashable { case note, warning, error }

    var text: String
    var level = Level.note
  }

  var status = Status.idle
  /// The current item's title; empty without an item.
  var title = ""
  /// The reason of the current item's last failed request that is sent again.
  var trouble: String?
  /// Artist and album, or the name of a station.
  var details: [String] = []
  /// The address of the item, without user and password.
  var address: String?
  var position = Duration.zero
  var length = Length.unknown
  /// Where the position lies in a live stream with a window; nil for other media.
  var rewound: Rewound?
  var map = CacheMap()

  /// The stored and total size of the current item, in bytes.
  var storedBytes: Int64?
  var totalBytes: Int64?
  /// The stored and total time of the current item, if that is a stream.
  var storedTime: Duration?
  var totalTime: Duration?
  /// Bytes per second; nil if nothing is being fetched.
  var speed: Double?
  /// The part of the delivered bytes that came from disk, 0…1; nil before the first byte.
  var hitRatio: Double?
  /// The requests for the item; nil for a stream, whose segments are requested by the proxy.
  var requests: Int? = 0
  var isOffline = false
  /// Whether the item is a file, which does not involve the cache.
  var isLocal = false

  /// 0…1.
  var volume = 1.0
  var isMuted = false
  var rate = 1.0
  var repeatMode = PlayQueue.RepeatMode.off
  var isShuffled = false
  var sleepTimer: SleepTimer?

  var tracks = ShownTracks()

  /// The line that is being typed; nil while there is none.
  var typedLine: TypedLine?

  var queue = QueueList()
  /// The oldest first.
  var messages: [Message] = []
  var isHelpVisible = false
  /// The number of help lines above the screen.
  var helpOffset = 0

  /// The position as a fraction, 0…1; nil if it is unknown.
  var fraction: Double? {
    guard case .known(let duration) = length, duration > .zero else { return nil }
    return min(1, max(0, position / duration))
  }
}

/// The states of the current item's parts, each as ranges of 0…1.
struct CacheMap: Sendable, Hashable {
  enum Part: Sendable, Hashable {
    /// Stored: read from disk.
    case cached
    /// Being fetched, or decoded ahead without being stored.
    case coming
    case missing
  }

  var cached: [Range<Double>] = []
  var fetching: [Range<Double>] = []
  var buffered: [Range<Double>] = []

  /// Returns the state of each of `count` cells of a bar. A cell is stored if its middle is.
  func cells(_ count: Int) -> [Part] {
    (0..<max(0, count)).map { index in
      let (start, end) = (Double(index) / Double(count), Double(index + 1) / Double(count))
      let middle = (start + end) / 2
      if cached.contains(where: { $0.contains(middle) }) { return .cached }
      if fetching.contains(where: { $0.lowerBound < end && $0.upperBound > start }) {
        return .coming
      }
      return buffered.contains { $0.contains(middle) } ? .coming : .missing
    }
  }
}

/// The tracks and the video of the current item, as the screen shows them. A pure value.
struct ShownTracks: Sendable, Hashable {
  /// One of the tracks of a kind.
  struct Choice: Sendable, Hashable {
    /// Nil: none is selected.
    var name: String?
    var number = 0
    var count: Int
  }

  /// The size of the shown video; nil if none is shown.
  var size: String?
  var codec: String?
  var isHidden = false
  var droppedFrames = 0
  /// Nil if there is no choice.
  var sound: Choice?
  var subtitle: Choice?

  init() {}

  init(_ state: PlayerState) {
    if let video = state.video {
      size = "\(video.width)\u{D7}\(video.height)"
      codec = [video.codec, video.hardwareDecoder.map { "(\($0))" }].compactMap(\.self)
        .joined(separator: " ")
      droppedFrames = video.droppedFrames
    }
    isHidden = state.tracks.hasVideo && state.video == nil && !state.showsVideo
    sound = Self.choice(.audio, of: state.tracks, least: 2)
    subtitle = Self.choice(.subtitle, of: state.tracks, least: 1)
  }

  /// Whether there is nothing to show.
  var isEmpty: Bool { self == ShownTracks() }

  private static func choice(
    _ kind: MediaTrack.Kind, of tracks: MediaTracks, least: Int
  ) -> Choice? {
    let all = tracks.tracks(of: kind)
    guard all.count >= least else { return nil }
    guard let track = tracks.selected(kind) else { return Choice(count: all.count) }
    return Choice(
      name: track.shownName, number: (all.firstIndex(of: track) ?? 0) + 1, count: all.count)
  }
}

extension MediaTrack {
  /// The language, else the title, else the number.
  var shownName: String {
    [language, title].compactMap(\.self).first { !$0.isEmpty } ?? "\(id.number)"
  }
}
