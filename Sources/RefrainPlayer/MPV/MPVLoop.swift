// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import Refrain

  /// libmpv's thread: it alone speaks to libmpv, waits for its events and for the engine's requests.
  ///
  /// Not Sendable: an instance never leaves its thread.
  final class MPVLoop {
    private let handle: OpaquePointer
    private let output: AudioOutput
    private let mailbox: MPVMailbox
    private let registry = MPVStreamRegistry()
    private let registration: Unmanaged<MPVStreamRegistry>
    private var playing = MPVPlaying()

    /// Starts the thread, and returns when libmpv is ready.
    static func start(output: AudioOutput) async throws -> MPVMailbox {
      try await withCheckedThrowingContinuation { continuation in
        let thread = Thread {
          do {
            let loop = try MPVLoop(output: output)
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

    private init(output: AudioOutput) throws {
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
        registration = try registry.install(in: handle)
      } catch {
        mpv_terminate_destroy(handle)
        throw error
      }
      self.handle = handle
      self.output = output
      mailbox = MPVMailbox(waking: handle)
      mpv_observe_property(handle, 0, "time-pos", MPV_FORMAT_DOUBLE)
      mpv_observe_property(handle, 0, "duration", MPV_FORMAT_DOUBLE)
    }

    private static func check(_ status: CInt, _ doing: String) throws {
      guard status >= 0 else { throw MediaCacheError(mpv: status, doing: doing) }
    }

    private func run() {
      var isRunning = true
      while isRunning {
        for request in mailbox.take() { perform(request) }
        guard let event = mpv_wait_event(handle, -1) else { continue }
        isRunning = event.pointee.event_id != MPV_EVENT_SHUTDOWN
        take(event.pointee)
      }
      let left = mailbox.shut()
      // Closes every stream, and the audio output.
      mpv_terminate_destroy(handle)
      registration.release()
      for case .load(let playback, _, _) in left { playback.report(.stopped) }
      for playback in playing.all { playback.report(.stopped) }
      mailbox.closed()
    }

    // MARK: Requests

    private func perform(_ request: MPVRequest) {
      switch request {
      case .load(let playback, let start, let paused): load(playback, start, paused)
      case .pause(let isPaused): set("pause", isPaused ? "yes" : "no")
      case .seek(let position):
        command("seek", "\(max(0, position.inSeconds))", "absolute+exact")
      case .volume(let volume): set("volume", "\(min(max(volume, 0), 1.3) * 100)")
      case .stop: command("stop")
      case .quit: command("quit")
      }
    }

    private func load(_ playback: MPVPlayback, _ start: Duration, _ paused: Bool) {
      set("start", start > .zero ? "\(start.inSeconds)" : "none")
      set("pause", paused ? "yes" : "no")
      let (number, address) = registry.add(playback)
      var result = mpv_node()
      let status = withArguments(["loadfile", address, "replace"]) {
        mpv_command_ret(handle, $0, &result)
      }
      defer { mpv_free_node_contents(&result) }
      guard status >= 0, let entry = result.integer(named: "playlist_entry_id") else {
        registry.remove(number)
        playback.report(.failed(MediaCacheError(mpv: status, doing: "load a stream")))
        return
      }
      for replaced in playing.add(playback, number: number, entry: entry) {
        finish(replaced, .stopped)
      }
    }

    /// A failure leaves things as they are: seeking in nothing, say.
    private func command(_ words: String...) {
      _ = withArguments(words) { mpv_command(handle, $0) }
    }

    private func set(_ property: String, _ value: String) {
      mpv_set_property_string(handle, property, value)
    }

    // MARK: Events

    private func take(_ event: mpv_event) {
      switch event.event_id {
      case MPV_EVENT_START_FILE:
        guard let start = event.data?.assumingMemoryBound(to: mpv_event_start_file.self) else {
          return
        }
        playing.start(entry: start.pointee.playlist_entry_id)
      case MPV_EVENT_PLAYBACK_RESTART:
        guard let playback = playing.hear() else { return }
        playback.report(.started(after: .now - playback.loaded))
        if output == .device, hasNoDevice { playback.report(.silent) }
      case MPV_EVENT_PROPERTY_CHANGE:
        guard let change = event.data?.assumingMemoryBound(to: mpv_event_property.self) else {
          return
        }
        take(change.pointee)
      case MPV_EVENT_END_FILE:
        guard let end = event.data?.assumingMemoryBound(to: mpv_event_end_file.self),
          let ended = playing.end(entry: end.pointee.playlist_entry_id)
        else { return }
        finish(ended, last(of: ended.playback, end.pointee))
      default:
        break
      }
    }

    private func take(_ change: mpv_event_property) {
      guard change.format == MPV_FORMAT_DOUBLE, let playback = playing.current,
        let value = change.data?.assumingMemoryBound(to: Double.self).pointee, value.isFinite
      else { return }
      let time = Duration.seconds(value)
      switch String(cString: change.name) {
      case "time-pos": if playing.isDue(time) { playback.report(.position(time)) }
      case "duration": playback.report(.duration(time))
      default: break
      }
    }

    private func finish(_ ended: MPVPlaying.Item, _ event: PlaybackEvent) {
      registry.remove(ended.number)
      ended.playback.report(event)
    }

    /// What the end of a file means. mpv takes failed reads for the end where it can, so that what
    /// the reads came to has the last word.
    private func last(of playback: MPVPlayback, _ end: mpv_event_end_file) -> PlaybackEvent {
      switch end.reason {
      case MPV_END_FILE_REASON_STOP, MPV_END_FILE_REASON_QUIT:
        return .stopped
      case MPV_END_FILE_REASON_EOF:
        return playback.error.map { .failed($0) } ?? .ended
      default:
        return .failed(
          playback.error ?? MediaCacheError(mpv: end.error, playing: playback.resource.url))
      }
    }

    private var hasNoDevice: Bool {
      guard let name = mpv_get_property_string(handle, "current-ao") else { return true }
      defer { mpv_free(name) }
      return String(cString: name) == "null"
    }
  }
#endif
