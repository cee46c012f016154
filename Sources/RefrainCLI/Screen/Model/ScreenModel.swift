// SPDX-License-Identifier: MIT

/// All that the screen of `play` shows. A value: two that are equal look the same.
struct ScreenModel: Sendable, Hashable {
  enum Status: Sendable, Hashable {
    case idle, loading, playing, paused, ended
    case buffering(Wait)
    case failed(reason: String, remedy: String)

    /// Whether it plays, or will as soon as it can.
    var isWanted: Bool {
      switch self {
      case .loading, .playing, .buffering: true
      case .idle, .paused, .ended, .failed: false
      }
    }
  }

  enum Wait: Sendable, Hashable {
    case bytes, seek
    /// The origin cannot be reached, and why.
    case network(String)
  }

  enum Length: Sendable, Hashable {
    case unknown, live
    case known(Duration)
  }

  enum RepeatMode: String, Sendable, Hashable {
    case off, one, all
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
  /// Of the current item; empty where there is none.
  var title = ""
  /// Why the last request for the current item failed that is sent again.
  var trouble: String?
  /// Artist and album, or the name of a station.
  var details: [String] = []
  /// Where it comes from, without user and password.
  var address: String?
  var position = Duration.zero
  var length = Length.unknown
  var map = CacheMap()

  /// Of the current item, in bytes.
  var storedBytes: Int64?
  var totalBytes: Int64?
  /// Bytes per second; nil where nothing is being fetched.
  var speed: Double?
  /// The part of what came that was on disk before, 0…1; nil before anything came.
  var hitRatio: Double?
  var requests = 0
  var isOffline = false
  /// A file, which no cache has to do with.
  var isLocal = false

  /// 0…1.
  var volume = 1.0
  var isMuted = false
  var rate = 1.0
  var repeatMode = RepeatMode.off
  var isShuffled = false
  var sleepTimer: SleepTimer?

  var queue = QueueList()
  /// The oldest first.
  var messages: [Message] = []
  var isHelpVisible = false
  /// How many lines of the help lie above the screen.
  var helpOffset = 0

  /// Where the position is, 0…1; nil where nobody can say.
  var fraction: Double? {
    guard case .known(let duration) = length, duration > .zero else { return nil }
    return min(1, max(0, position / duration))
  }
}
