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
    /// The item was heard and its origin cannot be reached now, or its resource has changed: it will
    /// be loaded again.
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
  /// The title that the cache received last of the current item.
  var receivedTitle: StreamTitle?
  /// The listener's selection among the tracks of the current item.
  var selection = TrackSelection()
  /// Whether the current item was heard: playback then waits for a lost network.
  var isHeard = false
  /// The position at the last start or seek of the current item.
  var readyPosition = Duration.zero
  var patience = NetworkPatience()
  /// How often the current item was loaded again because its resource had changed.
  var changes = 0
  /// The error of the last item that could not be played, until another one is heard.
  var lastFailure: MediaCacheError?
  /// The number of successive items that could not be played.
  var failures = 0
  /// Whether the system paused playback, and is expected to resume it.
  var isInterrupted = false
  var lastID: UInt64 = 0
  var lastSerial = 0
  let fill: FillPolicy
  /// What is kept of a live stream (`EngineItem.rewind`).
  var rewind: Int64?
  /// Returns where the listener left a media, and what was chosen for it; nil: nothing is stored.
  var mark: @Sendable (Media) -> PlaybackMark? = { _ in nil }
  /// Whether items begin where they were left (`Resumption.beginsWhereLeft`).
  var beginsWhereLeft = true
  /// Whether the volume chosen for an item is set again (`Resumption.restoresVolume`).
  var restoresVolume = true
  /// Whether the listener stopped the current item: it begins at its start again.
  var isStopped = false
  /// Whether the current item begins where it was left (`beginning`).
  var beginsAtMark = false
  /// What the listener has chosen for the current item, now or when it was left.
  var choices = ItemChoices()
  /// Whether the tracks that were chosen when the item was left are to be selected.
  var hasTracksToSelect = false
  /// What was chosen for the current item of a restored session, or of one that was stopped or
  /// failed, until that item or another one is loaded.
  var restored: (item: PlayQueue.Item.ID, choices: ItemChoices)?
  /// The volume for other items, while the current one has its own.
  var usualVolume: Double?

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
    (beginning, beginsAtMark) = (nil, false)
    (choices, hasTracksToSelect, isStopped) = (ItemChoices(), false, false)
    (isHeard, patience, changes, readyPosition) = (false, NetworkPatience(), 0, .zero)
    state.position = .zero
    state.duration = nil
    (state.isLive, state.liveWindow, state.hasLeftLive) = (false, nil, false)
    state.bufferedRanges = []
    state.cacheProgress = nil
    state.fetching = RangeSet()
    state.streamProgress = nil
    state.statistics = nil
    (state.tracks, state.video, selection) = (MediaTracks(), nil, TrackSelection())
    (tags, streamTitle, receivedTitle) = (MediaMetadata(), nil, nil)
    combineMetadata()
  }

  mutating func leave(_ actions: inout [PlayerAction]) {
    if case .absent = stage { actions.append(.retry(after: nil)) }
    restoreVolume(&actions)
    guard let id = loaded, let item = state.item else { return }
    loaded = nil
    actions.append(.leave(item, id))
  }

  /// Ends playback in the given stage.
  mutating func rest(_ stage: Stage, _ actions: inout [PlayerAction]) {
    let (position, duration) = (state.position, state.duration)
    let left = isOccupied ? state.item.map { (item: $0.id, choices: choices) } : restored
    if isOccupied { actions.append(.stop) }
    reset()
    switch stage {
    // Played again, the item has its tracks.
    case .idle, .failed: restored = left
    default: restored = nil
    }
    if case .ended = stage { (state.position, state.duration) = (position, duration) }
    if case .failed = stage { state.position = position }
    state.wantsToPlay = false
    isInterrupted = false
    self.stage = stage
  }

  /// Loads the current item.
  ///
  /// - Parameters:
  ///   - position: where it begins; nil: where the listener left it, or at its start.
  ///   - finished: a media that was just played to its end: its mark does not count any more.
  mutating func loadCurrent(
    at position: Duration? = nil, after finished: Media? = nil, _ actions: inout [PlayerAction]
  ) {
    guard let item = state.item else { return rest(.idle, &actions) }
    reset()
    let mark = item.media == finished ? nil : self.mark(item.media)
    let beginsAtMark = position == nil && beginsWhereLeft
    let start = position ?? (beginsAtMark ? mark?.position : nil) ?? .zero
    state.position = start
    load(item, at: start, &actions)
    if let mark { apply(mark, beginsAtMark: beginsAtMark, &actions) }
    applyRestoredChoices(to: item)
  }

  /// Loads the current item again after its origin could not be reached.
  mutating func loadAgain(_ actions: inout [PlayerAction]) {
    guard let item = state.item else { return rest(.idle, &actions) }
    actions.append(.retry(after: nil))
    // It is kept from its first sound on again.
    (state.liveWindow, state.hasLeftLive, receivedTitle) = (nil, false, nil)
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
    return EngineItem(id: EngineItem.ID(rawValue: lastID), media: media, fill: fill, rewind: rewind)
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
    // An item that was left further on begins there, or with what was chosen for it.
    guard let next, mark(next.media) == nil else {
      guard following != nil else { return }
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
    if let streamTitle, streamTitle != receivedTitle {
      receivedTitle = streamTitle
      showReceivedTitle()
    }
    state.cacheProgress = progress
    state.fetching = fetching
  }

  /// Shows the title that was received last, unless the engine reports the one of the sound that is
  /// heard: that of a stream with a window, which is known when it is ready. Until then it may get
  /// one, and servers send much sound at once at the start.
  mutating func showReceivedTitle() {
    guard let receivedTitle, receivedTitle != streamTitle, state.liveWindow == nil else { return }
    if rewind != nil {
      guard case .ready = stage else { return }
    }
    streamTitle = receivedTitle
    combineMetadata()
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
