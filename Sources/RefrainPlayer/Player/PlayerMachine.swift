// SPDX-License-Identifier: MIT
import Refrain

/// What a player is in, and what it makes of commands and of what its engine tells. A pure value: its
/// methods return what is to be done.
struct PlayerMachine {
  var state = PlayerState()

  /// Where the current item of the queue is. `status` follows from it.
  enum Stage: Hashable {
    case idle
    case loading(EngineItem.ID)
    case ready(EngineItem.ID)
    /// Heard before, and its origin is gone: it is loaded again by and by.
    case absent(MediaCacheError)
    case ended
    case failed(MediaCacheError)
  }

  var stage = Stage.idle
  /// The engine's item for the current one, also while its origin is gone.
  var loaded: EngineItem.ID?
  /// What the engine goes on with by itself.
  var following: (engine: EngineItem.ID, item: PlayQueue.Item)?
  var seeking: (serial: Int, target: Duration)?
  /// Where the current item was asked to begin, until it is heard: to be within it.
  var beginning: Duration?
  var waiting: WaitingReason?
  /// Why the current item had to be loaded again, until it is heard again.
  var absence: MediaCacheError?
  /// What the media says of itself, and what its live stream does.
  var tags = MediaMetadata()
  var streamTitle: StreamTitle?
  /// The current item was heard: a network that goes is waited for.
  var isHeard = false
  /// Where it was heard last from the beginning of a loading on.
  var readyPosition = Duration.zero
  var patience = NetworkPatience()
  /// The error of the last item that could not be played, until one could.
  var lastFailure: MediaCacheError?
  /// How many items in a row could not be played.
  var failures = 0
  /// Paused by the system, and to be resumed by it.
  var isInterrupted = false
  var lastID: UInt64 = 0
  var lastSerial = 0
  let fill: FillPolicy

  /// `previous` begins the current item anew when so much of it was heard.
  static let restartThreshold = Duration.seconds(3)

  init(fill: FillPolicy = .wholeResource) { self.fill = fill }

  /// The engine's item that is the current one.
  var engineItem: EngineItem.ID? {
    switch stage {
    case .loading(let id), .ready(let id): id
    case .idle, .absent, .ended, .failed: nil
    }
  }

  /// Whether the current item is played, or would be were it not paused.
  var isOccupied: Bool {
    switch stage {
    case .loading, .ready, .absent: true
    case .idle, .ended, .failed: false
    }
  }

  // MARK: Loading

  mutating func reset() {
    (seeking, waiting, absence, following) = (nil, nil, nil, nil)
    beginning = nil
    (isHeard, patience, readyPosition) = (false, NetworkPatience(), .zero)
    state.position = .zero
    state.duration = nil
    state.isLive = false
    state.bufferedRanges = []
    state.cacheProgress = nil
    state.fetching = RangeSet()
    state.statistics = nil
    (tags, streamTitle) = (MediaMetadata(), nil)
    combineMetadata()
  }

  mutating func leave(_ actions: inout [PlayerAction]) {
    if case .absent = stage { actions.append(.retry(after: nil)) }
    guard let id = loaded, let item = state.item else { return }
    loaded = nil
    actions.append(.leave(item, id))
  }

  /// Nothing plays from here on.
  mutating func rest(_ stage: Stage, _ actions: inout [PlayerAction]) {
    let (position, duration) = (state.position, state.duration)
    if isOccupied { actions.append(.stop) }
    reset()
    if case .ended = stage { (state.position, state.duration) = (position, duration) }
    if case .failed = stage { state.position = position }
    state.wantsToPlay = false
    isInterrupted = false
    self.stage = stage
  }

  mutating func loadCurrent(
    at position: Duration = .zero, _ actions: inout [PlayerAction]
  ) {
    guard let item = state.item else { return rest(.idle, &actions) }
    reset()
    state.position = position
    load(item, at: position, &actions)
  }

  /// After its origin was gone.
  mutating func loadAgain(_ actions: inout [PlayerAction]) {
    guard let item = state.item else { return rest(.idle, &actions) }
    actions.append(.retry(after: nil))
    // A live stream has no place to go on from.
    load(item, at: state.isLive ? .zero : state.position, &actions)
  }

  mutating func load(
    _ item: PlayQueue.Item, at position: Duration, _ actions: inout [PlayerAction]
  ) {
    let engine = makeItem(item.media)
    stage = .loading(engine.id)
    loaded = engine.id
    actions.append(.load(engine, at: position, isPaused: !state.wantsToPlay))
  }

  mutating func makeItem(_ media: Media) -> EngineItem {
    lastID += 1
    return EngineItem(id: EngineItem.ID(rawValue: lastID), media: media, fill: fill)
  }

  // MARK: What follows from it

  mutating func settle(_ actions: inout [PlayerAction]) {
    updateFollowing(&actions)
    state.status = status
  }

  var status: PlaybackStatus {
    switch stage {
    case .idle: .idle
    case .ended: .ended
    case .failed(let error): .failed(error)
    case .absent(let error): state.wantsToPlay ? .buffering(.network(error)) : .paused
    case .loading:
      if let absence {
        state.wantsToPlay ? .buffering(.network(absence)) : .paused
      } else {
        .loading
      }
    case .ready:
      if !state.wantsToPlay {
        .paused
      } else if seeking != nil {
        .buffering(.seek)
      } else {
        waiting.map(PlaybackStatus.buffering) ?? .playing
      }
    }
  }

  /// Tells the engine what to go on with, where that has changed.
  mutating func updateFollowing(_ actions: inout [PlayerAction]) {
    guard engineItem != nil else { return }
    let next = state.sleepTimer == .endOfItem ? nil : state.queue.next(.ended)
    guard next != following?.item else { return }
    guard let next else {
      following = nil
      actions.append(.follow(nil))
      return
    }
    let engine = makeItem(next.media)
    following = (engine.id, next)
    actions.append(.follow(engine))
  }

  // MARK: What the cache tells

  mutating func note(
    progress: CacheProgress?, fetching: RangeSet<Int64>, streamTitle: StreamTitle?
  ) {
    guard engineItem != nil else { return }
    if let streamTitle, streamTitle != self.streamTitle {
      self.streamTitle = streamTitle
      combineMetadata()
    }
    state.cacheProgress = progress
    state.fetching = fetching
  }

  /// What the engine was given of the current item.
  mutating func note(statistics: MediaReader.Statistics) {
    state.statistics = statistics
  }

  /// Both halves of what is known: what the media says once, and what a live stream says by and by.
  mutating func combineMetadata() {
    state.metadata = tags
    if let streamTitle {
      state.metadata.streamTitle = streamTitle.title
      state.metadata.station = streamTitle.station.name ?? tags.station
    }
  }
}
