// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import Refrain

  /// libmpv's thread: makes all calls to libmpv but `mpv_wakeup`, and waits for its events and for
  /// the engine's requests.
  ///
  /// Not Sendable: an instance never leaves its thread.
  final class MPVLoop {
    let mpv: MPVFunctions
    let handle: OpaquePointer
    let output: AudioOutput
    let video: VideoConfiguration
    private let mailbox: MPVMailbox
    let events: AsyncStream<MPVMessage>.Continuation
    let registry = MPVStreamRegistry()
    private let registration: Unmanaged<MPVStreamRegistry>
    var playing = MPVPlaylist()
    var clock = MPVClock()
    var waiting: WaitingReason?
    var isPaused = false
    /// The item that was loaded again for a seek, until it begins.
    var reloaded: EngineItem.ID?
    var isWaitingForCache = false
    /// Whether no sound device could be opened for the last item with sound.
    var isSilent = false
    var shown = MPVShown()
    private var isQuitting = false
    /// The time after a seek at which reads that still wait for bytes are interrupted.
    var interruption: ContinuousClock.Instant?

    /// Starts the thread, and returns when libmpv is loaded and ready.
    static func start(
      library: String, output: AudioOutput, video: VideoConfiguration = .none,
      events: AsyncStream<MPVMessage>.Continuation
    ) async throws -> MPVMailbox {
      // Starting a thread meanwhile would block one of Swift's (`MediaCache.startThreads`).
      try await IOThreads.background.run { _ = try MPVLibrary.load(library) }
      return try await withCheckedThrowingContinuation { continuation in
        let thread = Thread {
          do {
            let loop = try MPVLoop(
              mpv: try MPVLibrary.load(library), output: output, video: video, events: events)
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

    private init(
      mpv: MPVFunctions, output: AudioOutput, video: VideoConfiguration,
      events: AsyncStream<MPVMessage>.Continuation
    ) throws {
      guard let handle = mpv.create() else {
        throw MPVError(
          "libmpv could not be started.",
          remedy: "Leave the numeric locale at \"C\": setlocale(LC_NUMERIC, \"C\").")
      }
      do {
        for (name, value) in MPVOptions.all(output: output) {
          try mpv.check(mpv.set_option_string(handle, name, value), "set \(name)=\(value)")
        }
        try Self.setVideo(video, of: handle, mpv)
        try mpv.check(mpv.initialize(handle), "start")
        try mpv.check(mpv.hook_add(handle, 0, Self.openedHook, 0), "add a hook before items")
        if case .wavFile = output {
          try mpv.check(mpv.hook_add(handle, 0, "on_after_end_file", 0), "add a hook between items")
        }
        registration = try registry.install(in: handle, of: mpv)
      } catch {
        mpv.terminate_destroy(handle)
        throw error
      }
      self.mpv = mpv
      self.handle = handle
      self.output = output
      self.video = video
      self.events = events
      mailbox = MPVMailbox(waking: handle, of: mpv)
      for property in MPVProperty.allCases where isOfUse(property) {
        _ = mpv.observe_property(handle, 0, property.rawValue, property.format)
      }
      bindKeys()
    }

    /// The hook at which libmpv has opened a file and waits: the start position can still be set.
    static let openedHook = "on_preloaded"

    private func run() {
      var isRunning = true
      while isRunning {
        for request in mailbox.take() { perform(request) }
        guard let event = mpv.wait_event(handle, patience()) else { continue }
        isRunning = event.pointee.event_id != MPV_EVENT_SHUTDOWN
        take(event.pointee)
        if isAwake { lookAtWaiting() }
        lookAtLive()
        lookAtVideo()
      }
      if !isQuitting, playsVideo { tellEnd() }
      forget(playing.replaceAll(with: nil, entry: 0))
      mailbox.shut()
      // Closes every stream, and the audio output.
      mpv.terminate_destroy(handle)
      registration.release()
      events.finish()
      mailbox.closed()
    }

    // MARK: Requests

    func perform(_ request: MPVRequest) {
      switch request {
      case .load(let playback, let start, let isPaused): load(playback, start, isPaused)
      case .follow(let playback): follow(with: playback)
      case .pause(let isPaused): pause(isPaused)
      case .seek(let item, let position, let serial):
        // The seek is not meant for a following item.
        guard playing.current.map({ $0.item.id == item }) ?? true else { return }
        seek(MPVClock.Seek(position: max(.zero, position), serial: serial))
      case .rate(let rate): showing("set", "speed", "\(rate)")
      case .languages(let languages): prefer(languages)
      case .replayGain(let mode): set("replaygain", mode.option)
      case .device(let device):
        // libmpv would open the output again, and begin an output file anew.
        guard output == .device || output == .silent else { break }
        set("audio-device", device ?? "auto")
      case .volume(let volume, let isMuted):
        let isNew = isMuted != shown.isMuted
        (shown.volume, shown.isMuted) = (volume * 100, isMuted)
        showing("set", "volume", "\(volume * 100)")
        if isNew { showing("set", "mute", isMuted ? "yes" : "no") }
      case .stop:
        forget(playing.replaceAll(with: nil, entry: 0))
        command("stop")
      case .syncState: break
      case .goOn(let hook): goOn(hook)
      case .select(let track, let kind): select(track, of: kind)
      case .showVideo(let showsVideo): showVideo(showsVideo)
      case .command(let words): command(words: words)
      case .quit:
        isQuitting = true
        // libmpv does not end before its streams are open.
        forget(playing.replaceAll(with: nil, entry: 0))
        command("quit")
      }
    }

    func load(_ playback: MPVPlayback, _ position: Duration, _ isPaused: Bool) {
      pause(isPaused)
      clock = MPVClock(start: position)
      (waiting, interruption, isWaitingForCache) = (nil, nil, false)
      reloaded = nil
      playback.noteStream(position: position)
      let (item, entry) = enter(playback, "replace", start: position)
      forget(playing.replaceAll(with: entry == nil ? nil : item, entry: entry ?? 0))
      guard entry == nil else { return }
      forget([item])
      refuse(playback)
    }

    func pause(_ isPaused: Bool) {
      self.isPaused = isPaused
      set("pause", isPaused ? "yes" : "no")
      // Nothing waits while paused, and a later wait is reported again.
      if isPaused { waiting = nil }
      clock.advance(.now)
    }

    func follow(with playback: MPVPlayback?) {
      // Removes all entries but the current one.
      command("playlist-clear")
      forget(playing.removeFollowing())
      guard let playback else { return }
      let (item, entry) = enter(playback, "append")
      // Not reported: when the current item ends, nothing follows it.
      guard let entry else { return forget([item]) }
      playing.follow(with: item, entry: entry)
    }

    /// Adds an item to mpv's playlist, and returns mpv's id of the entry.
    ///
    /// - Parameter start: the position at which the item begins: an option of this file only.
    func enter(
      _ playback: MPVPlayback, _ how: String, start: Duration = .zero
    ) -> (MPVPlaylist.Item, Int64?) {
      var number: UInt64?
      let address: String
      let options =
        playback.item.streamURL == nil ? [] : MPVOptions.stream
      let subtitles = playsVideo ? externalSubtitles(of: playback) : []
      let videoOptions = MPVVideoOptions.file(subtitles: subtitles.map(\.address))
      if let stream = playback.item.streamURL {
        address = stream.absoluteString
      } else if playback.item.media.url.isFileURL {
        address = playback.item.media.url.path(percentEncoded: false)
      } else {
        playback.enter()
        let added = registry.add(playback)
        (number, address) = (added.number, added.address)
      }
      playback.onAbsence { [weak mailbox] in mailbox?.post(.syncState) }
      var result = mpv_node()
      let status = MPVCommand.loadFile(
        address, how, start: start, options: options + videoOptions
      ).withNode {
        mpv.command_node(handle, $0, &result)
      }
      defer { mpv.free_node_contents(&result) }
      let item = MPVPlaylist.Item(playback: playback, number: number, subtitles: subtitles)
      return (item, status >= 0 ? result.integer(named: "playlist_entry_id") : nil)
    }

    /// Loads the current item again, for a seek that libmpv cannot perform in what is loaded.
    func loadAgain(_ playback: MPVPlayback) {
      shown.beginAgain()
      let following = playing.following
      if waiting != nil { tell(.waiting(playback.item.id, nil)) }
      (waiting, interruption, isWaitingForCache) = (nil, nil, false)
      let (item, entry) = enter(playback, "replace")
      let replaced = playing.replaceAll(with: entry == nil ? nil : item, entry: entry ?? 0)
      for item in replaced where item.playback !== playback { item.playback.leave() }
      release(replaced)
      guard entry != nil else {
        playback.leave()
        return refuse(playback)
      }
      reloaded = playback.item.id
      if let following { follow(with: following) }
    }

    func refuse(_ playback: MPVPlayback) {
      let id = playback.item.id
      tell(.began(id))
      tell(.failed(id, mpv.error(MPV_ERROR_COMMAND.rawValue, playing: playback.item)))
    }

    func seek(_ seek: MPVClock.Seek) {
      guard !playing.isEmpty else { return }
      if let playback = playing.current, noteLive(playback), !playback.canRewind {
        return tellCompleted(seek.serial, of: playback.item.id, at: position)
      }
      if case .seek(let seek) = clock.ask(seek) { go(to: seek) }
    }

    func go(to seek: MPVClock.Seek) {
      var position = seek.position
      if let playback = playing.current {
        if playback.isLive {
          position = keptPlace(nearest: position) ?? position
          interruption = .now + .seconds(3)
        } else if returnToStart(of: playback, for: position) {
          return
        }
        playback.expectSeek()
        playback.noteStream(position: position)
      }
      let isTaken = showing("seek", "\(max(0, position.inSeconds))", "absolute+exact")
      guard !isTaken, let playback = playing.current, let serial = clock.abandon() else { return }
      tellCompleted(serial, of: playback.item.id, at: position)
    }

    /// Reports that a seek is completed; of one that no listener requested, only the position.
    func tellCompleted(_ serial: Int, of id: EngineItem.ID, at position: Duration) {
      tell(
        serial == MPVClock.Seek.own
          ? .position(id, position) : .seekCompleted(id, serial: serial, at: position))
    }

    /// Sets the start position of the file that is being opened, and of no other.
    func begin(at position: Duration) {
      set("file-local-options/start", MPVCommand.startText(position))
    }

    /// Runs a command, and returns whether it succeeded. A failed one (a seek while nothing plays,
    /// say) has no effect.
    @discardableResult
    func command(_ words: String...) -> Bool { command(words: words) }

    @discardableResult
    func command(words: [String]) -> Bool {
      withArguments(words) { mpv.command(handle, $0) } >= 0
    }

    func set(_ property: String, _ value: String) {
      _ = mpv.set_property_string(handle, property, value)
    }

    /// Continues libmpv after a hook.
    func goOn(_ hook: UInt64) { _ = mpv.hook_continue(handle, hook) }

    func forget(_ items: [MPVPlaylist.Item]) {
      for item in items { item.playback.leave() }
      release(items)
    }

    /// Releases the addresses of items, and ends the openings of their streams.
    func release(_ items: [MPVPlaylist.Item]) {
      for item in items {
        item.number.map(registry.remove)
        item.playback.cancelWaits()
        for subtitle in item.subtitles {
          subtitle.number.map(registry.remove)
          subtitle.playback?.leave()
          subtitle.playback?.cancelWaits()
        }
      }
    }

    func tell(_ event: EngineEvent) { events.yield(.event(event)) }

    // MARK: Waiting

    /// Whether an item should be audible now.
    var isAwake: Bool { !isPaused && playing.current?.isHeard == true }

    /// Returns the seconds to wait for an event; negative: without a limit.
    func patience() -> Double {
      // No event reports that sound stands still.
      // The part of a live stream that is kept grows while paused, too.
      let syncState = isAwake ? 0.25 : playing.current?.canRewind == true ? 0.5 : -1
      guard let interruption else { return syncState }
      let left = (interruption - .now).inSeconds
      if left > 0 { return syncState < 0 ? left : min(left, syncState) }
      self.interruption = nil
      if playing.current?.isLive == true {
        giveUpSeek()
      } else {
        // The thread of mpv that waits in a read is also the one that seeks.
        playing.current?.interruptReads()
      }
      return syncState
    }
  }
#endif
