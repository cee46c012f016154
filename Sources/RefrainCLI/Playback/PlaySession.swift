// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Foundation
  import Refrain
  import RefrainPlayer
  import RefrainPlayerStreams

  /// Plays media, and reports on it: on a screen, in lines for people, or in lines for programs.
  @MainActor
  final class PlaySession {
    let settings: PlaySettings
    private let screen: PlayScreen?
    private var plays = 0
    /// The queues that have yet to play.
    var waiting: [[Media]] = []
    /// The sound devices that were reported as missing; nil: the system's.
    private var missingDevices: Set<String?> = []
    private var hasToldDisplay = false
    private let windowControl = PlayControl()
    private(set) var hasFailed = false
    /// Whether a desktop or the window asked the program to end.
    private var hasQuit = false
    /// Output that is written once the screen has been left.
    private var held: [@Sendable () throws -> Void] = []
    /// The lines of standard output, also the events of `--json`.
    private let output: LineOutput

    init(_ settings: PlaySettings, screen: PlayScreen?) {
      self.settings = settings
      self.screen = screen
      output = LineOutput(isJSON: settings.isJSON)
      firstStart = settings.start
    }

    /// The queue to go on with, in place of a new one.
    var session: PlayerSession?

    /// The position at which the first item begins; zero once it was used.
    private var firstStart: Duration

    /// Plays a queue until it ends or the listener quits. An item that fails is reported, and the
    /// others are played.
    ///
    /// - Parameter told: called with the report of each item that ends, except failed ones.
    func play(
      _ media: [Media], from cache: MediaCache, _ told: (Media, PlayReport) throws -> Void
    ) async throws {
      let streams = StreamProxy(cache: cache)
      let result: Result<Void, any Error>
      do {
        // A file for each item.
        waiting =
          settings.output == nil
          ? [media] : (settings.isShuffled ? media.shuffled() : media).map { [$0] }
        while !waiting.isEmpty {
          try await playQueue(waiting.removeFirst(), from: cache, streams, told)
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await streams.stop()
      try result.get()
    }

    /// Releases the terminal, and writes the held output and the lines that still wait.
    ///
    /// - Throws: `Interrupted` if the listener interrupted it, or the terminal is gone; the error of
    ///   writing.
    func finish() async throws {
      let ending = await screen?.leave()
      Console.shared.clear()
      if case .interrupted(SIGHUP) = ending { throw Interrupted(signal: SIGHUP) }
      for write in held { try write() }
      held = []
      try await output.end()
      if case .interrupted(let signal) = ending { throw Interrupted(signal: signal) }
    }

    // MARK: A queue

    private func playQueue(
      _ media: [Media], from cache: MediaCache, _ streams: StreamProxy,
      _ told: (Media, PlayReport) throws -> Void
    ) async throws {
      guard screen?.isOver != true, !hasQuit else { return }
      plays += 1
      var configuration = Player.Configuration()
      let first = settings.isShuffled ? media.indices.randomElement() ?? 0 : 0
      // While libmpv is loaded and started, the first bytes are on their way, or retried.
      let requests = cache.events(includingTraffic: false)
      let beginning = session.map { $0.queue.current?.media } ?? media.dropFirst(first).first
      let opening = beginning.flatMap { OpeningAhead($0, in: cache, fill: configuration.fill) }
      async let resumption = settings.listening.resumption(in: cache)
      let engine = try await MPVEngine(
        cache: cache, output: settings.output.map { .wavFile(numberedFile($0, plays)) } ?? .device,
        video: settings.video.configuration)
      engine.begin(with: opening)
      configuration.streams = PlayerStreams { try await streams.url(for: $0) }
      configuration.readList = readingLists(in: cache)
      let device = try await settings.listening.apply(to: engine)
      configuration.resumption = await resumption
      configuration.rewind = settings.listening.rewind
      if settings.listening.remembers { configuration.savedSession = SavedSession(for: cache) }
      let player = Player(cache: cache, engine: engine, configuration: configuration)
      if let device { player.audioDevice = device }
      let events = player.events()
      screen?.follow(player, cache)
      start(media, at: first, on: player)
      let desktop = offer(player, cache)
      let result: Result<Void, any Error>
      do {
        try await cache.reportingRetries(in: requests) { [weak self] retry in
          await self?.note(retry, of: player, cache)
        } during: {
          try await follow(player, events, cache, told)
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await desktop?.leave()
      // Closing completes an output file and releases the terminal.
      await player.close()
      Console.shared.clearLater()
      try result.get()
      try Task.checkCancellation()
    }

    /// Goes on with the stored queue; what the listener has asked for this time counts.
    private func goOn(with session: PlayerSession, on player: Player) {
      player.restore(session)
      let listening = settings.listening
      if let rate = listening.rate { player.rate = rate }
      if listening.hasVolume { player.volume = settings.volume }
      if let mode = settings.repeatMode { player.repeatMode = mode }
      if settings.isShuffled { player.isShuffled = true }
      player.resume()
      if settings.isPaused { player.pause() }
    }

    private func start(_ media: [Media], at first: Int, on player: Player) {
      if let session { return goOn(with: session, on: player) }
      player.volume = settings.volume
      player.rate = settings.listening.rate ?? 1
      player.repeatMode = settings.repeatMode ?? .off
      var media = media
      if plays == 1, media.indices.contains(first) {
        media[first].subtitles += settings.subtitles
        if !settings.subtitles.isEmpty { tellMissingDisplay() }
      }
      player.play(media, startingAt: first, from: firstStart)
      firstStart = .zero
      if settings.isShuffled { player.isShuffled = true }
      if settings.isPaused { player.pause() }
    }

    /// Follows the events until the player is closed, here or by the screen.
    private func follow(
      _ player: Player, _ events: AsyncStream<PlayerEvent>, _ cache: MediaCache,
      _ told: (Media, PlayReport) throws -> Void
    ) async throws {
      var status = PlayStatus(name: "")
      var hasSought = false
      var current: Media?
      // Those that failed or turned out to be lists: nothing is reported of their playback.
      var unreported: Set<PlayQueue.Item.ID> = []
      // After an item the position is reset; that position was not played.
      var isBetween = false
      let chapters = PlayChapters(cache: cache)
      for await event in events {
        if case .item(let item) = event { current = item?.media }
        if settings.isJSON, !(isBetween && event.isPosition),
          let line = PlayEvent(event, about: current)
        {
          try tell(line)
        }
        if case .report = event { isBetween = true }
        if case .started = event { isBetween = false }
        switch event {
        case .item(let item?):
          status = PlayStatus(name: name(of: item.media))
        case .started(let item, _):
          unreported.remove(item.id)
          if let seek = settings.seek, !hasSought { player.seek(to: seek) }
          hasSought = true
        case .duration(let duration): status.duration = duration
        case .position(let position): status.position = position
        case .live(let isLive): status.isLive = isLive
        case .liveWindow(let window): status.liveWindow = window
        case .seekRefused(let item): refuseSeek(in: item.media)
        case .audioUnavailable: tellSilence(of: player.audioDevice)
        case .tracks(let tracks) where tracks.hasVideo: tellMissingDisplay()
        case .window(let event): await take(event, on: player)
        case .videoUnavailable(let item):
          note("\(name(of: item.media)): its video could not be shown: playing only its sound.")
        case .subtitleFailed(_, let url, let error):
          note("\(URLArgument.name(of: url)): \(printable("\(error)"))")
        case .failed(let item, let error):
          unreported.insert(item.id)
          fail(item.media.url, error)
        case .expanded(let item, _): unreported.insert(item.id)
        case .report(let item, let report) where unreported.remove(item.id) == nil:
          try leave(item.media, report, told)
        case .status(.ended): await player.close()
        // After the same failure twice in a row the player stops: go on with the next item.
        case .status(.failed) where screen == nil:
          if player.queue.next(.ended) != nil { player.next() } else { await player.close() }
        default: break
        }
        if let chapter = chapters.note(event) { try tell(chapter, of: current) }
        screen?.note(event)
        if screen == nil, !settings.isJSON, !status.name.isEmpty {
          status.hasLeftLive = player.state.hasLeftLive
          Console.shared.showLater(status.line(width: Console.shared.width - 1))
        }
      }
    }

    // MARK: The desktop

    private func offer(_ player: Player, _ cache: MediaCache) -> PlayDesktop? {
      guard let options = settings.desktop else { return nil }
      return PlayDesktop(
        player, options: options, cache: cache,
        quit: { [weak self, weak player] in
          guard let self, let player else { return }
          Task { await self.quit(player) }
        },
        note: { [weak self] in self?.note($0) })
    }

    /// Shows a line for the listener: what a desktop asked for, or why an entry does not play.
    func note(_ line: String) {
      guard let screen else {
        Console.shared.clearLater()
        return Console.shared.noteLater("refrain: \(line)")
      }
      screen.add(.init(text: line))
    }

    // MARK: The window

    /// The window's keys do what those of the terminal do, and closing it ends the program.
    private func take(_ event: WindowEvent, on player: Player) async {
      switch event {
      case .key(let key):
        if let screen { return screen.take(windowKey: key) }
        guard let action = ScreenAction(windowKey: key) else { return }
        if action == .quit { return await quit(player) }
        windowControl.perform(action, on: player, tell: note)
      case .closeRequested: await quit(player)
      }
    }

    private func quit(_ player: Player) async {
      hasQuit = true
      if let screen { screen.quit() } else { await player.close() }
    }

    /// Reports that a film is only heard, or a subtitle not shown, once per command.
    private func tellMissingDisplay() {
      guard settings.video.reportsMissingDisplay, !hasToldDisplay, !settings.isQuiet else { return }
      hasToldDisplay = true
      Console.shared.noteLater(VideoChoice.missingDisplayText)
    }

    // MARK: Telling

    /// Reports that a request for an item of the queue failed and is sent again.
    private func note(_ retry: MediaCache.Retry, of player: Player, _ cache: MediaCache) {
      let item = player.queue.items.first { item in
        item.media.resource.map { cache.key(for: $0) == retry.key } ?? false
      }
      guard let item else { return }
      if settings.isJSON {
        // A closed output is noticed by the next event.
        try? tell(PlayEvent(retrying: item.media, retry.error, after: retry.delay))
      } else if let screen {
        screen.note(trouble: retry.error, of: item.id)
      } else if !settings.isQuiet, retry.isNews {
        Console.shared.noteLater(RetryReports.line(item.media.url, retry.error))
      }
    }

    private func leave(
      _ media: Media, _ report: PlaybackReport, _ told: (Media, PlayReport) throws -> Void
    ) throws {
      let report = PlayReport(media, report)
      if settings.isJSON {
        var line = PlayEvent("report", media)
        line.report = report
        try tell(line)
      }
      try told(media, report)
    }

    /// Writes a line to standard output; with a screen, once it has been left.
    func write(_ line: String) throws {
      guard !settings.isJSON else { return }
      guard screen != nil else { return try output.write(line) }
      held.append { try Console.shared.print(line) }
    }

    /// Reports that media cannot be played.
    func fail(_ url: URL, _ error: MediaCacheError) {
      hasFailed = true
      let line = failureLine(url, error)
      guard let screen else {
        Console.shared.clearLater()
        Console.shared.noteLater(line)
        return
      }
      screen.add(.init(text: "\(URLArgument.name(of: url)): \(error.reason)", level: .error))
      held.append { Console.shared.note(line) }
    }

    private func refuseSeek(in media: Media) {
      guard let screen else {
        return Console.shared.noteLater("refrain: \(name(of: media)): \(Self.liveText)")
      }
      screen.add(.init(text: Self.liveText))
    }

    private static let liveText = "Seeking is not possible in a live stream."

    private func name(of media: Media) -> String {
      media.title.map(printable) ?? URLArgument.name(of: media.url)
    }

    /// Reports a missing sound device, once.
    private func tellSilence(of device: String?) {
      guard missingDevices.insert(device).inserted else { return }
      let problem =
        device.map { "The sound device \(printable($0)) could not be opened" }
        ?? "No sound device was found"
      Console.shared.noteLater("\(problem): playing in real time, without sound.")
    }

    private func tell(_ chapter: Chapter, of media: Media?) throws {
      if settings.isJSON {
        try tell(PlayEvent(chapter, of: media))
      } else if let title = chapter.title {
        screen?.add(.init(text: "Chapter: \(printable(title))"))
      }
    }

    private func tell(_ event: PlayEvent) throws {
      try output.write(JSONText.line(event), isRepeated: event.isRepeated)
    }
  }

  extension PlayerEvent {
    fileprivate var isPosition: Bool {
      if case .position = self { true } else { false }
    }
  }
#endif
