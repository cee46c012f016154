// SPDX-License-Identifier: MIT
public import Observation
public import Refrain

/// Plays a queue of remote media and files through a cache: one item after the other, the next one
/// fetched ahead, over a network that comes and goes.
///
/// All of it happens on the main actor. Every call returns at once; what comes of it is seen in the
/// properties, which interfaces observe, and told by `events()`, for programs. Both say the same.
///
/// Letting go of the player ends what plays.
@MainActor
@Observable
public final class Player {
  public private(set) var status = PlaybackStatus.idle
  /// Whether it is to play: what a button shows, also while something is waited for.
  public private(set) var wantsToPlay = false
  public private(set) var queue: PlayQueue
  /// The current item of the queue.
  public private(set) var item: PlayQueue.Item?
  public private(set) var position = Duration.zero
  /// Of the current item; nil while it is unknown, and for live streams.
  public private(set) var duration: Duration?
  /// The current item is a live stream: it plays as it comes, has no length, and cannot be sought in.
  /// False while that is unknown.
  public private(set) var isLive = false
  /// What is decoded ahead.
  public private(set) var bufferedRanges: [Range<Duration>] = []
  /// How much of the current item is stored, in bytes; nil for files, and while it is unknown.
  public private(set) var cacheProgress: CacheProgress?
  /// What is stored of the current item, as times: as if every second took the same number of bytes.
  public private(set) var cachedRanges: [Range<Duration>] = []
  /// What is being fetched of the current item, as times.
  public private(set) var fetchingRanges: [Range<Duration>] = []
  /// What was read of the current item so far, and where it came from; nil for files.
  public private(set) var statistics: MediaReader.Statistics?
  public private(set) var metadata = MediaMetadata()
  /// 1 is as it was recorded.
  public private(set) var rate = 1.0
  /// 0 is silence, 1 the loudness of the media.
  public private(set) var volume = 1.0
  public private(set) var isMuted = false
  public private(set) var sleepTimer: SleepTimer?
  /// No sound device could be opened: it plays in real time, without a sound.
  public private(set) var isSilent = false

  @ObservationIgnored private var machine: PlayerMachine
  @ObservationIgnored private let engine: any PlayerEngine
  @ObservationIgnored let cache: MediaCache
  @ObservationIgnored private let configuration: PlayerConfiguration
  @ObservationIgnored private var shown: PlayerState
  @ObservationIgnored private var listeners = PlayerListeners()
  @ObservationIgnored private var timers = PlayerTimers()
  @ObservationIgnored private var follower: CacheFollower?
  @ObservationIgnored private var prefetcher: NextPrefetcher
  /// When an item was asked for, and when it was heard.
  @ObservationIgnored private var starts = PlaybackStarts()
  /// What came in while something was being worked on.
  @ObservationIgnored private var inbox: [() -> Void] = []
  @ObservationIgnored private var isWorking = false
  @ObservationIgnored private var isClosed = false

  /// - Parameters:
  ///   - cache: where http and https media are kept.
  ///   - engine: the player's own from here on.
  public init(
    cache: MediaCache, engine: any PlayerEngine,
    configuration: PlayerConfiguration = PlayerConfiguration()
  ) {
    self.cache = cache
    self.engine = engine
    self.configuration = configuration
    machine = PlayerMachine(fill: configuration.fill)
    shown = machine.state
    queue = machine.state.queue
    prefetcher = NextPrefetcher(cache: cache, opening: configuration.opening)
    engine.report = { [weak self] event in
      self?.work { $0.take(event) }
    }
  }

  deinit {
    // Not isolated itself: that would need later systems.
    let (engine, listeners, timers, prefetcher) = (engine, listeners, timers, prefetcher)
    Task { @MainActor in
      Self.release(listeners, timers, prefetcher)
      engine.stop()
    }
  }

  /// Where the current item is.
  var stage: PlayerMachine.Stage { machine.stage }

  /// The current item was heard: a network that goes is waited for.
  var isHeard: Bool { machine.isHeard }

  // MARK: Keeping it

  /// What to write down, to go on after a restart.
  public var session: PlayerSession {
    PlayerSession(
      queue: queue, position: isLive ? 0 : position.inSeconds, rate: rate, volume: volume,
      isMuted: isMuted)
  }

  /// Takes up what was written down. Nothing is asked for before `resume()`.
  public func restore(_ session: PlayerSession) { send(.restore(session)) }

  // MARK: Following it

  /// What changes and what happens from the call on; nothing is left out, so that who listens has to
  /// keep up. Ends when the player is closed or let go.
  public func events() -> AsyncStream<PlayerEvent> { listeners.add() }

  /// All that the properties show, as one value.
  public var state: PlayerState { machine.state }

  /// Ends what plays, and the engine. Returns when all that they held is let go; the player cannot be
  /// used after it.
  public func close() async {
    guard !isClosed else { return await engine.close() }
    send(.stop)
    isClosed = true
    follower = nil
    Self.release(listeners, timers, prefetcher)
    // Who listens from here on is told at once that there is nothing.
    listeners.finish()
    await engine.close()
  }

  private static func release(
    _ listeners: PlayerListeners, _ timers: PlayerTimers, _ prefetcher: NextPrefetcher
  ) {
    var (listeners, timers, prefetcher) = (listeners, timers, prefetcher)
    timers.cancel()
    prefetcher.cancel()
    listeners.finish()
  }

  // MARK: Working

  func send(_ command: PlayerCommand) {
    work { $0.perform($0.machine.handle(command)) }
  }

  /// One after the other, also where an engine answers within a call.
  private func work(_ job: @escaping (Player) -> Void) {
    guard !isClosed else { return }
    inbox.append { [weak self] in
      guard let self else { return }
      job(self)
      show()
    }
    guard !isWorking else { return }
    isWorking = true
    while !inbox.isEmpty { inbox.removeFirst()() }
    isWorking = false
  }

  private func take(_ event: EngineEvent) {
    if case .ready(let id, _) = event, id == machine.engineItem, machine.absence == nil,
      let item = machine.state.item, let time = starts.hear(id)
    {
      perform([.tell(.started(item, after: time))])
    }
    if case .began(let id) = event { starts.begin(id) }
    perform(machine.handle(event))
    // What comes from disk changes nothing that is stored, and yet was read.
    if let id = event.item { noteStatistics(of: id) }
  }

  private func noteStatistics(of id: EngineItem.ID) {
    guard id == machine.engineItem, let now = engine.statistics(of: id) else { return }
    machine.note(statistics: now)
  }

  private func perform(_ actions: [PlayerAction]) {
    for action in actions {
      switch action {
      case .load(let item, let position, let isPaused):
        starts.begin(item.id)
        engine.load(item.askingForTitles, at: position, isPaused: isPaused)
      case .follow(let item): engine.follow(with: item?.askingForTitles)
      case .play: engine.play()
      case .pause: engine.pause()
      case .seek(let position, let serial): engine.seek(to: position, serial: serial)
      case .setRate(let rate): engine.setRate(rate)
      case .setVolume(let volume, let isMuted): engine.setVolume(volume, isMuted: isMuted)
      case .stop: engine.stop()
      case .retry(let delay):
        timers.retry(after: delay) { [weak self] in self?.send(.retry) }
      case .tell(let event): listeners.send(event)
      case .leave(let item, let id):
        let report = PlaybackReport(
          timeToFirstSound: starts.leave(id), statistics: engine.statistics(of: id))
        listeners.send(.report(item, report))
      }
    }
  }

  /// Brings what is shown, and what goes on beside, in line with the state.
  private func show() {
    let (before, now) = (shown, machine.state)
    shown = now
    publish(now)
    for event in now.changes(since: before) { listeners.send(event) }
    if before.sleepTimer != now.sleepTimer {
      timers.sleep(now.sleepTimer) { [weak self] in self?.send(.fallAsleep) }
    }
    followCache()
    if configuration.prefetchesNext { prefetcher.update(now) }
  }

  /// Only what has changed, for observers are told of each assignment.
  private func publish(_ now: PlayerState) {
    func set<Value: Equatable>(_ property: ReferenceWritableKeyPath<Player, Value>, _ value: Value)
    {
      if self[keyPath: property] != value { self[keyPath: property] = value }
    }
    set(\.status, now.status)
    set(\.wantsToPlay, now.wantsToPlay)
    set(\.queue, now.queue)
    set(\.item, now.item)
    set(\.position, now.position)
    set(\.duration, now.duration)
    set(\.isLive, now.isLive)
    set(\.bufferedRanges, now.bufferedRanges)
    set(\.cacheProgress, now.cacheProgress)
    set(\.cachedRanges, now.cachedRanges)
    set(\.fetchingRanges, now.fetchingRanges)
    set(\.statistics, now.statistics)
    set(\.metadata, now.metadata)
    set(\.rate, now.rate)
    set(\.volume, now.volume)
    set(\.isMuted, now.isMuted)
    set(\.sleepTimer, now.sleepTimer)
    set(\.isSilent, now.isSilent)
  }

  /// Looks at what is stored of the current item, as long as it is that.
  private func followCache() {
    guard let id = machine.engineItem, let resource = machine.state.item?.media.resource else {
      follower = nil
      return
    }
    guard follower?.id != id else { return }
    follower = CacheFollower(of: resource, in: cache, as: id) { [weak self] activity in
      self?.work { player in
        guard player.machine.engineItem == id else { return }
        player.machine.note(
          progress: activity.progress, fetching: activity.fetching,
          streamTitle: activity.streamTitle)
        player.noteStatistics(of: id)
      }
    }
  }
}
