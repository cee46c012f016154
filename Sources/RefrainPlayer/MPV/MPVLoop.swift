// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import Refrain

  /// libmpv's thread: it alone speaks to libmpv, waits for its events and for the engine's requests.
  ///
  /// Not Sendable: an instance never leaves its thread.
  final class MPVLoop {
    let handle: OpaquePointer
    private let output: AudioOutput
    private let mailbox: MPVMailbox
    private let events: AsyncStream<MPVNews>.Continuation
    private let registry = MPVStreamRegistry()
    private let registration: Unmanaged<MPVStreamRegistry>
    private var playing = MPVPlaying()
    private var clock = MPVClock()
    private var waiting: WaitingReason?
    private var isPaused = false
    private var isWaitingForCache = false
    /// When reads that still wait for bytes are given up, after a seek.
    private var interruption: ContinuousClock.Instant?

    /// Starts the thread, and returns when libmpv is ready.
    static func start(
      output: AudioOutput, events: AsyncStream<MPVNews>.Continuation
    ) async throws -> MPVMailbox {
      try await withCheckedThrowingContinuation { continuation in
        let thread = Thread {
          do {
            let loop = try MPVLoop(output: output, events: events)
            continuation.resume(returning: loop.mailbox)
            loop.run()
          } catch {
            continuation.resume(throwing: error)
          }
        }
        thread.name = "refrain.mpv"
        thread.start()
      }
    }

    private init(output: AudioOutput, events: AsyncStream<MPVNews>.Continuation) throws {
      guard let handle = mpv_create() else {
        throw MediaCacheError(
          .usage, "libmpv could not be started.",
          remedy: "Leave the numeric locale at \"C\": setlocale(LC_NUMERIC, \"C\").")
      }
      do {
        for (name, value) in MPVOptions.all(output: output) {
          try Self.check(mpv_set_option_string(handle, name, value), "take \(name)=\(value)")
        }
        try Self.check(mpv_initialize(handle), "start")
        if case .wavFile = output {
          try Self.check(mpv_hook_add(handle, 0, "on_after_end_file", 0), "wait between items")
        }
        registration = try registry.install(in: handle)
      } catch {
        mpv_terminate_destroy(handle)
        throw error
      }
      self.handle = handle
      self.output = output
      self.events = events
      mailbox = MPVMailbox(waking: handle)
      for property in MPVProperty.allCases {
        mpv_observe_property(handle, 0, property.rawValue, property.format)
      }
    }

    private static func check(_ status: CInt, _ doing: String) throws {
      guard status >= 0 else { throw MediaCacheError(mpv: status, doing: doing) }
    }

    private func run() {
      var isRunning = true
      while isRunning {
        for request in mailbox.take() { perform(request) }
        guard let event = mpv_wait_event(handle, patience()) else { continue }
        isRunning = event.pointee.event_id != MPV_EVENT_SHUTDOWN
        take(event.pointee)
        if isAwake { lookAtWaiting() }
      }
      mailbox.shut()
      // Closes every stream, and the audio output.
      mpv_terminate_destroy(handle)
      registration.release()
      events.finish()
      mailbox.closed()
    }

    // MARK: Requests

    private func perform(_ request: MPVRequest) {
      switch request {
      case .load(let playback, let start, let isPaused): load(playback, start, isPaused)
      case .follow(let playback): follow(with: playback)
      case .pause(let isPaused): pause(isPaused)
      case .seek(let item, let position, let serial):
        // Not in what follows on the one that was meant.
        guard playing.current.map({ $0.item.id == item }) ?? true else { return }
        seek(MPVClock.Seek(position: max(.zero, position), serial: serial))
      case .rate(let rate): set("speed", "\(rate)")
      case .volume(let volume, let isMuted):
        set("volume", "\(volume * 100)")
        set("mute", isMuted ? "yes" : "no")
      case .stop:
        forget(playing.replaceAll(with: nil, entry: 0))
        command("stop")
      case .look: break
      case .goOn(let hook): mpv_hook_continue(handle, hook)
      case .quit: command("quit")
      }
    }

    private func load(_ playback: MPVPlayback, _ position: Duration, _ isPaused: Bool) {
      start(at: position)
      pause(isPaused)
      clock = MPVClock()
      (waiting, interruption, isWaitingForCache) = (nil, nil, false)
      let (item, entry) = enter(playback, "replace")
      forget(playing.replaceAll(with: entry == nil ? nil : item, entry: entry ?? 0))
      if entry == nil { refuse(playback) }
    }

    private func pause(_ isPaused: Bool) {
      self.isPaused = isPaused
      set("pause", isPaused ? "yes" : "no")
      // Nothing is waited for, and what is waited for afterwards is told anew.
      if isPaused { waiting = nil }
      clock.advance(.now)
    }

    private func follow(with playback: MPVPlayback?) {
      // All but the one that plays.
      command("playlist-clear")
      forget(playing.removeFollowing())
      guard let playback else { return }
      let (item, entry) = enter(playback, "append")
      // The player is told nothing: at the end of the current one, nothing follows on it.
      guard let entry else { return forget([item]) }
      playing.follow(with: item, entry: entry)
    }

    /// Gives mpv an item, and returns mpv's id of it.
    private func enter(_ playback: MPVPlayback, _ how: String) -> (MPVPlaying.Item, Int64?) {
      var number: UInt64?
      let address: String
      if playback.item.media.url.isFileURL {
        address = playback.item.media.url.path(percentEncoded: false)
      } else {
        let added = registry.add(playback)
        (number, address) = (added.number, added.address)
      }
      playback.onAbsence { [weak mailbox] in mailbox?.post(.look) }
      var result = mpv_node()
      let status = withArguments(["loadfile", address, how]) {
        mpv_command_ret(handle, $0, &result)
      }
      defer { mpv_free_node_contents(&result) }
      let item = MPVPlaying.Item(playback: playback, number: number)
      return (item, status >= 0 ? result.integer(named: "playlist_entry_id") : nil)
    }

    private func refuse(_ playback: MPVPlayback) {
      let id = playback.item.id
      tell(.began(id))
      tell(.failed(id, MediaCacheError(mpv: MPV_ERROR_COMMAND.rawValue, doing: "load a stream")))
    }

    private func seek(_ seek: MPVClock.Seek) {
      guard !playing.isEmpty else { return }
      switch clock.ask(seek) {
      case .seek(let seek): go(to: seek)
      case .start(let position): start(at: position)
      case .nothing: break
      }
    }

    private func go(to seek: MPVClock.Seek) {
      playing.current?.expectSeek()
      let isTaken = command("seek", "\(max(0, seek.position.inSeconds))", "absolute+exact")
      guard !isTaken, let playback = playing.current, let serial = clock.abandon() else { return }
      tell(.sought(playback.item.id, serial: serial, at: Self.position(number("time-pos") ?? 0)))
    }

    /// Holds for every entry: taken back when one is heard.
    private func start(at position: Duration) {
      set("start", position > .zero ? "\(position.inSeconds)" : "none")
    }

    /// A failure leaves things as they are: seeking in nothing, say.
    @discardableResult
    private func command(_ words: String...) -> Bool {
      withArguments(words) { mpv_command(handle, $0) } >= 0
    }

    private func set(_ property: String, _ value: String) {
      mpv_set_property_string(handle, property, value)
    }

    private func forget(_ items: [MPVPlaying.Item]) {
      for item in items { item.number.map(registry.remove) }
    }

    private func tell(_ event: EngineEvent) { events.yield(.event(event)) }

    // MARK: Events

    private func take(_ event: mpv_event) {
      switch event.event_id {
      case MPV_EVENT_START_FILE:
        guard let start = event.data?.assumingMemoryBound(to: mpv_event_start_file.self) else {
          return
        }
        // What follows by itself begins with nothing asked for.
        if playing.ended != nil { clock = MPVClock() }
        let begun = playing.begin(entry: start.pointee.playlist_entry_id)
        for event in begun { tell(event) }
        // What follows was taken back when mpv had gone on to it already.
        if begun.isEmpty, playing.ended != nil {
          command("stop")
          for event in playing.rest() { tell(event) }
        }
      case MPV_EVENT_SEEK:
        if clock.begin() { interruption = .now + .milliseconds(250) }
      case MPV_EVENT_PLAYBACK_RESTART:
        restart()
      case MPV_EVENT_PROPERTY_CHANGE:
        guard let change = event.data?.assumingMemoryBound(to: mpv_event_property.self) else {
          return
        }
        take(change.pointee)
      case MPV_EVENT_END_FILE:
        guard let end = event.data?.assumingMemoryBound(to: mpv_event_end_file.self),
          let ended = playing.end(entry: end.pointee.playlist_entry_id)
        else { return }
        finish(ended, end.pointee)
      // The property that libmpv would have one watch is also set between two items.
      case MPV_EVENT_IDLE:
        guard playing.ended != nil else { return }
        // What was appended too late to be gone on with.
        command("playlist-clear")
        forget(playing.removeFollowing())
        for event in playing.rest() { tell(event) }
      case MPV_EVENT_HOOK:
        guard let hook = event.data?.assumingMemoryBound(to: mpv_event_hook.self) else { return }
        events.yield(.held(hook.pointee.id))
      default:
        break
      }
    }

    /// Playing began, at the start or after a seek.
    private func restart() {
      clock.advance(.now)
      // Unknown where it is over already.
      guard let playback = playing.current, number("seeking") != 1 else { return }
      interruption = nil
      let id = playback.item.id
      let position = Self.position(number("time-pos") ?? 0)
      let arrival = clock.arrive(at: position)
      if playback.isHeard {
        if case .none = arrival { tell(.position(id, position)) }
      } else {
        playback.isHeard = true
        start(at: .zero)
        tellAll(of: id)
        tell(.ready(id, at: position))
        if output == .device, text("current-ao") ?? "null" == "null" { tell(.silent) }
      }
      switch arrival {
      case .none: break
      case .sought(let serial): tell(.sought(id, serial: serial, at: position))
      case .further(let seek): go(to: seek)
      }
    }

    private func take(_ change: mpv_event_property) {
      guard let property = MPVProperty(rawValue: String(cString: change.name)) else { return }
      if property == .isWaiting { isWaitingForCache = change.value(as: CInt.self) == 1 }
      let number = change.format == MPV_FORMAT_DOUBLE ? change.value(as: Double.self) : nil
      guard let playback = playing.current else { return }
      let id = playback.item.id
      switch property {
      case .position:
        guard let number, number.isFinite, playback.isHeard else { return }
        clock.advance(.now)
        if clock.isDue(.now) { tell(.position(id, Self.position(number))) }
      case .duration:
        guard change.format == MPV_FORMAT_NONE || number?.isFinite == true else { return }
        tell(.duration(id, number.map { .seconds($0) }))
      case .buffered:
        guard let number, number.isFinite, playback.isHeard, clock.isBufferDue(.now) else { return }
        tell(.buffered(id, ranges(upTo: number)))
      case .metadata:
        guard change.format == MPV_FORMAT_NODE, let node = change.value(as: mpv_node.self) else {
          return
        }
        tell(.metadata(id, MediaMetadata(tags: node.texts)))
      case .isWaiting: break
      }
    }

    /// What libmpv does not tell where it is as it was of the item before.
    private func tellAll(of id: EngineItem.ID) {
      tell(.duration(id, number(MPVProperty.duration.rawValue).map { .seconds($0) }))
      var node = mpv_node()
      let name = MPVProperty.metadata.rawValue
      guard mpv_get_property(handle, name, MPV_FORMAT_NODE, &node) >= 0 else { return }
      defer { mpv_free_node_contents(&node) }
      tell(.metadata(id, MediaMetadata(tags: node.texts)))
    }

    private func ranges(upTo end: Double) -> [Range<Duration>] {
      let position = max(0, number("time-pos") ?? 0)
      return end > position ? [.seconds(position)..<(.seconds(end))] : []
    }

    /// Below 0 is the start of what follows without a gap, while the end of what was before it is
    /// still heard.
    private static func position(_ seconds: Double) -> Duration { .seconds(max(0, seconds)) }

    /// Tells where it waits, or waits no longer. mpv itself tells it of sound devices alone, not of
    /// files.
    private func lookAtWaiting() {
      guard let playback = playing.current, playback.isHeard else { return }
      let isStill = clock.isStill(.now) && playback.isReading
      let isWaiting = !isPaused && (isWaitingForCache || isStill)
      let now = isWaiting ? playback.absence.map(WaitingReason.network) ?? .bytes : nil
      guard now != waiting else { return }
      waiting = now
      tell(.waiting(playback.item.id, now))
    }

    private func finish(_ ended: MPVPlaying.Item, _ end: mpv_event_end_file) {
      forget([ended])
      (waiting, interruption) = (nil, nil)
      let playback = ended.playback
      switch end.reason {
      case MPV_END_FILE_REASON_STOP, MPV_END_FILE_REASON_QUIT, MPV_END_FILE_REASON_REDIRECT:
        break
      // mpv takes failed reads for the end where it can: what the reads came to has the last word.
      case MPV_END_FILE_REASON_EOF where playback.error == nil:
        playing.noteEnd(of: playback.item.id)
      default:
        // mpv would go on with what follows by itself.
        forget(playing.replaceAll(with: nil, entry: 0))
        command("stop")
        tell(
          .failed(
            playback.item.id,
            playback.error ?? MediaCacheError(mpv: end.error, playing: playback.item.media.url)))
      }
    }

    // MARK: Waiting

    /// Whether an item should be heard now.
    private var isAwake: Bool { !isPaused && playing.current?.isHeard == true }

    /// Seconds to wait for an event; negative: for as long as it takes.
    private func patience() -> Double {
      // Where sound stands still no event tells it.
      let look = isAwake ? 0.25 : -1
      guard let interruption else { return look }
      let left = (interruption - .now).inSeconds
      if left > 0 { return look < 0 ? left : min(left, look) }
      // A seek leads elsewhere, and mpv's thread that seeks is the one that reads.
      self.interruption = nil
      playing.current?.interruptReads()
      return look
    }

    // MARK: Properties

    /// Flags are 0 and 1.
    private func number(_ property: String) -> Double? {
      var value = 0.0
      if mpv_get_property(handle, property, MPV_FORMAT_DOUBLE, &value) >= 0 { return value }
      var flag: CInt = 0
      return mpv_get_property(handle, property, MPV_FORMAT_FLAG, &flag) >= 0 ? Double(flag) : nil
    }

    private func text(_ property: String) -> String? {
      guard let value = mpv_get_property_string(handle, property) else { return nil }
      defer { mpv_free(value) }
      return String(cString: value)
    }
  }

  extension mpv_event_property {
    fileprivate func value<Value>(as type: Value.Type) -> Value? {
      data?.assumingMemoryBound(to: type).pointee
    }
  }
#endif
