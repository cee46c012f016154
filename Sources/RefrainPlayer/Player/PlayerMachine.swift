// SPDX-License-Identifier: MIT
import Refrain

/// The state of a player, and its reactions to commands and engine events. A pure value: its
/// methods return the actions to perform.
struct PlayerMachine {
  var state = PlayerState()

  /// The stage of the current item. `status` follows from it.
  enum Stage: Hashable {
    case idle
    case loading(EngineItem.ID)
    case ready(EngineItem.ID)
    /// The item was heard, and its origin cannot be reached now: it will be loaded again.
    case absent(MediaCacheError)
    case ended
    case failed(MediaCacheError)
  }

  var stage = Stage.idle
  /// The engine's item for the current one, also while the origin cannot be reached.
  var loaded: EngineItem.ID?
  /// The item that the engine continues with by itself.
  var following: (engine: EngineItem.ID, item: PlayQueue.Item)?
  var seeking: (serial: Int, target: Duration)?
  /// The requested start position, until the item is heard: it has to lie within the item.
  var beginning: Duration?
  var waiting: WaitingReason?
  /// The error because of which the current item was loaded again, until it is heard.
  var absence: MediaCacheError?
  /// The media's own metadata, and the title that its live stream sent last.
  var tags = MediaMetadata()
  var streamTitle: StreamTitle?
  /// Whether the current item was heard: playback then waits for a lost network.
  var isHeard = false
  /// The position at the last start or seek of the current item.
  var readyPosition = Duration.zero
  var patience = NetworkPatience()
  /// The error of the last item that could not be played, until another one is heard.
  var lastFailure: MediaCacheError?
  /// The number of successive items that could not be played.
  var failures = 0
  /// Whether the system paused playback, and is expected to resume it.
  var isInterrupted = false
  var lastID: UInt64 = 0
  var lastSerial = 0
  let fill: FillPolicy

  /// Beyond this position, `previous` restarts the current item.
  static let restartThreshold = Duration.seconds(3)

  init(fill: FillPolicy = .wholeResource) { self.fill = fill }

  /// The engine's current item.
  var engineItem: EngineItem.ID? {
    switch stage {
    case .loading(let id), .ready(let id): id
    case .idle, .absent, .ended, .failed: nil
    }
  }

  /// Whether the current item plays, or would if it were not paused.
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
    state.streamProgress = nil
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

  /// Ends playback in the given stage.
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

  /// Loads the current item again after its origin could not be reached.
  mutating func loadAgain(_ actions: inout [PlayerAction]) {
    guard let item = state.item else { return rest(.idle, &actions) }
    actions.append(.retry(after: nil))
    // A live stream has no position to resume at.
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

  /// Sets the engine's following item, if it has changed.
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

  /// Records how much of the current item, a stream, is stored.
  mutating func note(_ progress: StreamProgress?) {
    guard isOccupied, !state.isLive else { return }
    state.streamProgress = progress
  }

  /// Records the statistics of the current item.
  mutating func note(statistics: MediaReader.Statistics) {
    state.statistics = statistics
  }

  /// Combines the media's own metadata with the titles that its live stream sends.
  mutating func combineMetadata() {
    state.metadata = tags
    if let streamTitle {
      state.metadata.streamTitle = streamTitle.title
      state.metadata.station = streamTitle.station.name ?? tags.station
    }
  }
}
