// SPDX-License-Identifier: MIT
public import Observation
public import Refrain

/// Plays a queue of remote media and files through a cache. The next item is fetched ahead, and
/// playback resumes after a network failure.
///
/// All of it runs on the main actor. Every call but the `async` ones returns at once; its effects
/// appear in the observable properties, for user interfaces, and in `events()`, for programs. Both
/// carry the same information.
///
/// Releasing the player ends playback.
@MainActor
@Observable
public final class Player {
  public private(set) var status = PlaybackStatus.idle
  /// Whether playback is wanted, also while it waits: the state to show on a play button.
  public private(set) var wantsToPlay = false
  public private(set) var queue: PlayQueue
  /// The current item of the queue.
  public private(set) var item: PlayQueue.Item?
  public private(set) var position = Duration.zero
  /// The duration of the current item; nil while it is unknown, and for live streams.
  public private(set) var duration: Duration?
  /// Whether the current item is a live stream: it plays as it arrives, has no duration, and cannot
  /// seek, unless it has a `liveWindow`. False while that is unknown.
  public private(set) var isLive = false
  /// The kept part of a live stream, in which one can seek (`Configuration.rewind`); nil for
  /// other media, and for live streams that do not seek.
  public private(set) var liveWindow: LiveWindow?
  /// The ranges buffered ahead, which play without any further byte.
  public private(set) var bufferedRanges: [Range<Duration>] = []
  /// The stored part of the current item, in bytes; nil for files, streams, and while it is
  /// unknown.
  public private(set) var cacheProgress: CacheProgress?
  /// The stored part of the current item, in time, if that is a stream from a proxy; nil for
  /// other media, for live streams, and while it is unknown.
  public private(set) var streamProgress: StreamProgress?
  /// The stored part of the current item, as times. Exact for streams; for other media, as if
  /// every second took the same number of bytes.
  public private(set) var cachedRanges: [Range<Duration>] = []
  /// The ranges of the current item that are being fetched, as times.
  public private(set) var fetchingRanges: [Range<Duration>] = []
  /// The statistics of reading the current item so far; nil for files and streams.
  public private(set) var statistics: MediaReader.Statistics?
  public private(set) var metadata = MediaMetadata()
  /// Whether no sound device could be opened: playback then runs in real time, without sound.
  public private(set) var isSilent = false
  /// The tracks of the current item; empty until they are known, and if the engine does not list
  /// them (`capabilities`).
  public private(set) var tracks = MediaTracks()
  /// The video of the current item; nil if none is shown.
  public private(set) var video: VideoStatus?
  /// Whether the player's own window fills the screen (`setFullscreen(_:)`); nil while no window is
  /// open, and on systems other than Linux.
  public private(set) var isFullscreen: Bool?

  // MARK: Settings

  /// The playback rate, within `rates`; 1 is normal speed. The pitch is kept.
  public var rate: Double {
    get { shownRate }
    set { send(.setRate(newValue)) }
  }

  /// The volume: 0 is silence, 1 the loudness of the media.
  public var volume: Double {
    get { shownVolume }
    set { send(.setVolume(newValue)) }
  }

  public var isMuted: Bool {
    get { isShownMuted }
    set { send(.setMuted(newValue)) }
  }

  public var repeatMode: PlayQueue.RepeatMode {
    get { queue.repeatMode }
    set { send(.setRepeatMode(newValue)) }
  }

  public var isShuffled: Bool {
    get { queue.isShuffled }
    set { send(.setShuffled(newValue)) }
  }

  /// The timer that pauses playback; nil: none.
  public var sleepTimer: SleepTimer? {
    get { shownSleepTimer }
    set { send(.setSleepTimer(newValue)) }
  }

  /// The sound device; nil: the system's. It is changed without a seek or a request. On Linux, the
  /// `name` of one of `MPVEngine.audioDevices()`; engines that leave the choice to the system ignore
  /// it.
  public var audioDevice: String? {
    get { shownAudioDevice }
    set { send(.setAudioDevice(newValue)) }
  }

  /// Whether video is shown, of this and the following items. Without, the player's own window
  /// closes, and the sound plays on. An item without sound stays visible.
  public var showsVideo: Bool {
    get { isVideoShown }
    set { send(.setShowsVideo(newValue)) }
  }

  /// What the engine supports besides playing.
  public var capabilities: PlayerCapabilities { engine.capabilities }

  private var isVideoShown = true
  private var shownRate = 1.0
  private var shownVolume = 1.0
  private var isShownMuted = false
  private var shownSleepTimer: SleepTimer?
  private var shownAudioDevice: String?

  @ObservationIgnored private var machine: PlayerMachine
  @ObservationIgnored private let engine: StreamEngine
  @ObservationIgnored let cache: MediaCache
  @ObservationIgnored private let configuration: Configuration
  @ObservationIgnored private var shown: PlayerState
  @ObservationIgnored private var listeners = PlayerListeners()
  @ObservationIgnored private var timers = PlayerTimers()
  @ObservationIgnored private var follower: CacheFollower?
  @ObservationIgnored private var prefetcher: NextPrefetcher
  /// The times at which items were requested, and first heard.
  @ObservationIgnored private var starts = PlaybackStarts()
  @ObservationIgnored private var records: PlayerRecords
  /// The jobs that arrived while another one ran.
  @ObservationIgnored private var inbox: [() -> Void] = []
  @ObservationIgnored private var isWorking = false
  @ObservationIgnored private var isClosed = false

  /// - Parameters:
  ///   - cache: the cache for http and https media.
  ///   - engine: owned by the player from now on.
  ///   - configuration: the behavior of the player.
  public init(
    cache: MediaCache, engine: any PlayerEngine,
    configuration: Configuration = Configuration()
  ) {
    self.cache = cache
    self.engine = StreamEngine(
      engine, cache: cache, streams: configuration.streams?.support)
    self.configuration = configuration
    machine = PlayerMachine(fill: configuration.fill)
    machine.rewind = configuration.rewind
    records = PlayerRecords(configuration)
    if let resumption = configuration.resumption {
      machine.mark = { resumption.positions.mark(for: $0) }
      machine.beginsWhereLeft = resumption.beginsWhereLeft
      machine.restoresVolume = resumption.restoresVolume
      engine.prefer(resumption.positions.languages)
    }
    shown = machine.state
    queue = machine.state.queue
    prefetcher = NextPrefetcher(
      cache: cache, streams: configuration.streams?.support, opening: configuration.opening)
    self.engine.report = { [weak self] event in
      self?.work { $0.take(event) }
    }
    self.engine.readList = configuration.readList
    self.engine.reportList = { [weak self] id, media, failure in
      self?.work { $0.perform($0.machine.expand(id, into: media, after: failure)) }
    }
    self.engine.reportProgress = { [weak self] progress in
      self?.work { $0.machine.note(progress) }
    }
  }

  deinit {
    // Not isolated: an isolated `deinit` needs later systems.
    let (engine, listeners, timers, prefetcher) = (engine, listeners, timers, prefetcher)
    Task { @MainActor in
      Self.release(listeners, timers, prefetcher)
      engine.stop()
    }
  }

  /// Lets the player's own window fill the screen, or no longer.
  public func toggleFullscreen() { engine.toggleFullscreen() }

  /// The stage of the current item.
  var stage: PlayerMachine.Stage { machine.stage }

  /// Whether the current item would be loaded again after an error.
  func loadsAgain(after error: MediaCacheError) -> Bool { machine.loadsAgain(after: error) }

  // MARK: Keeping it

  /// The state to store, for continuing after a restart of the app.
  public var session: PlayerSession {
    let choices = machine.sessionChoices
    return PlayerSession(
      queue: queue, position: isLive ? 0 : position.inSeconds, rate: rate,
      volume: machine.usualVolume ?? volume, isMuted: isMuted, audio: choices.audio,
      subtitle: choices.subtitle)
  }

  /// Restores a stored session. Nothing is requested before `resume()`.
  public func restore(_ session: PlayerSession) { send(.restore(session)) }

  // MARK: Following it

  /// Returns a stream of all changes and events from this call on, which ends when the player is
  /// closed or released. Unbounded: a slow consumer accumulates events.
  public func events() -> AsyncStream<PlayerEvent> { listeners.add() }

  /// The values of the properties, as one value.
  public var state: PlayerState { machine.state }

  /// Ends playback and the engine. Returns when their resources are released; the player cannot be
  /// used afterwards.
  public func close() async {
    if !isClosed {
      records.close()
      send(.stop)
      isClosed = true
      follower = nil
      Self.release(listeners, timers, prefetcher)
      // Streams requested from now on end at once.
      listeners.finish()
    }
    // Every call waits for both: the program may end after any of them.
    await engine.close()
    await PlayerRecords.flush(configuration)
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

  /// Performs a command; its effects appear at once in `state`.
  func send(_ command: PlayerCommand) {
    work { $0.perform($0.machine.handle(command)) }
  }

  /// Runs jobs one after the other, even if an engine reports from within a call.
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
    // An item that is loaded again was heard before.
    if case .ready(let id, _) = event, id == machine.engineItem, !machine.isHeard,
      let item = machine.state.item, let time = starts.hear(id)
    {
      perform([.tell(.started(item, after: time))])
    }
    if case .began(let id) = event { starts.begin(id) }
    perform(machine.handle(event))
    // Reads from disk change the statistics without an event of the cache.
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
        engine.load(item, at: position, isPaused: isPaused)
      case .follow(let item): engine.follow(with: item)
      case .play: engine.play()
      case .pause: engine.pause()
      case .seek(let position, let serial): engine.seek(to: position, serial: serial)
      case .setRate(let rate): engine.setRate(rate)
      case .setVolume(let volume, let isMuted): engine.setVolume(volume, isMuted: isMuted)
      case .select(let track, let kind): engine.select(track, of: kind)
      case .setShowsVideo(let showsVideo): engine.setShowsVideo(showsVideo)
      case .setFullscreen(let isFullscreen): engine.setFullscreen(isFullscreen)
      case .setAudioDevice(let device): engine.engine.setAudioDevice(device)
      case .remember(let choice, let kind):
        if let languages = records.remember(choice, of: kind) { engine.prefer(languages) }
      case .stop: engine.stop()
      case .retry(let delay):
        timers.retry(after: delay) { [weak self] in self?.send(.retry) }
      case .tell(let event):
        if case .finished(let item) = event { records.finish(item) }
        listeners.send(event)
      case .leave(let item, let id):
        let report = PlaybackReport(
          timeToFirstSound: starts.leave(id), statistics: engine.statistics(of: id))
        listeners.send(.report(item, report))
      }
    }
  }

  /// Updates the properties, events, timers and prefetching to the machine's state.
  private func show() {
    let (before, now) = (shown, machine.state)
    shown = now
    publish(now)
    for event in now.changes(since: before) { listeners.send(event) }
    if before.sleepTimer != now.sleepTimer {
      timers.sleep(now.sleepTimer) { [weak self] in self?.send(.fallAsleep) }
    }
    records.note(machine)
    followCache()
    if configuration.prefetchesNext { prefetch(now) }
  }

  private func prefetch(_ now: PlayerState) {
    prefetcher.update(now) {
      engine.preferredVariant
    }
  }

  /// Assigns only properties that have changed: every assignment notifies observers.
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
    set(\.liveWindow, now.liveWindow)
    set(\.bufferedRanges, now.bufferedRanges)
    set(\.cacheProgress, now.cacheProgress)
    set(\.streamProgress, now.streamProgress)
    set(\.cachedRanges, now.cachedRanges)
    set(\.fetchingRanges, now.fetchingRanges)
    set(\.statistics, now.statistics)
    set(\.metadata, now.metadata)
    set(\.shownRate, now.rate)
    set(\.shownVolume, now.volume)
    set(\.isShownMuted, now.isMuted)
    set(\.shownSleepTimer, now.sleepTimer)
    set(\.shownAudioDevice, now.audioDevice)
    set(\.isSilent, now.isSilent)
    set(\.tracks, now.tracks)
    set(\.video, now.video)
    set(\.isVideoShown, now.showsVideo)
    set(\.isFullscreen, now.isFullscreen)
  }

  /// Follows the cache's progress of the current item; of a stream, the manifest's would say
  /// nothing about its segments.
  private func followCache() {
    guard let id = machine.engineItem, let resource = machine.state.item?.media.resource,
      engine.hasOwnBytes
    else {
      if follower != nil {
        machine.note(progress: nil, fetching: RangeSet(), streamTitle: nil)
      }
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
