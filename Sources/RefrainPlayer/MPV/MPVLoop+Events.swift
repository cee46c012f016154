// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Refrain

  /// What libmpv tells.
  extension MPVLoop {
    func take(_ event: mpv_event) {
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
        guard String(cString: hook.pointee.name) == Self.openedHook else {
          events.yield(.held(hook.pointee.id))
          return
        }
        opened()
        goOn(hook.pointee.id)
      default:
        break
      }
    }

    /// The current item was opened; nothing of it can be heard yet.
    func opened() {
      guard let playback = playing.current else { return }
      if noteLive(playback) {
        begin(at: .zero)
      } else {
        if !playback.isOpenEnded, let seconds = number(MPVProperty.duration.rawValue) {
          tell(.duration(playback.item.id, .seconds(seconds)))
          clock.open(lasting: .seconds(seconds))
        }
        if let position = clock.beginning { begin(at: position) }
      }
    }

    /// Playing began, at the start or after a seek.
    func restart() {
      clock.advance(.now)
      // Unknown where it is over already.
      guard let playback = playing.current, number("seeking") != 1, !clock.isPastEnd else { return }
      interruption = nil
      let id = playback.item.id
      let position = self.position
      let isLive = noteLive(playback)
      let arrival = clock.arrive(at: position)
      if playback.isHeard {
        if case .none = arrival { tell(.position(id, position)) }
      } else {
        playback.isHeard = true
        tellAll(of: playback)
        tell(.ready(id, at: position))
        if output == .device, text("current-ao") ?? "null" == "null" { tell(.audioUnavailable) }
      }
      switch arrival {
      case .none: break
      case .seekCompleted(let serial): tell(.seekCompleted(id, serial: serial, at: position))
      case .further where isLive:
        if let serial = clock.abandon() { tell(.seekCompleted(id, serial: serial, at: position)) }
      case .further(let seek): go(to: seek)
      }
    }

    func take(_ change: mpv_event_property) {
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
        guard !noteLive(playback), !playback.hasGrowingDuration else { return }
        // What libmpv says of an open end before the first sound is judged then.
        guard playback.isHeard || !playback.isOpenEnded else { return }
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
    func tellAll(of playback: MPVPlayback) {
      let id = playback.item.id
      let duration = number(MPVProperty.duration.rawValue)
      if playback.isOpenEnded {
        // Where the format states no length, libmpv takes what it has demuxed for the whole.
        let demuxed = number(MPVProperty.buffered.rawValue) ?? 0
        playback.hasGrowingDuration = playback.isLive || (duration ?? 0) < demuxed + 1
      }
      tell(.duration(id, playback.hasGrowingDuration ? nil : duration.map { .seconds($0) }))
      var node = mpv_node()
      let name = MPVProperty.metadata.rawValue
      guard mpv.get_property(handle, name, MPV_FORMAT_NODE, &node) >= 0 else { return }
      defer { mpv.free_node_contents(&node) }
      tell(.metadata(id, MediaMetadata(tags: node.texts)))
    }

    func ranges(upTo end: Double) -> [Range<Duration>] {
      let position = max(0, number("time-pos") ?? 0)
      return end > position ? [.seconds(position)..<(.seconds(end))] : []
    }

    /// Below 0 is the start of what follows without a gap, while the end of what was before it is
    /// still heard.
    static func position(_ seconds: Double) -> Duration { .seconds(max(0, seconds)) }

    /// Where libmpv is.
    var position: Duration { Self.position(number("time-pos") ?? 0) }

    /// Reports a live stream once. Returns whether it is one.
    @discardableResult
    func noteLive(_ playback: MPVPlayback) -> Bool {
      guard playback.isLive else { return false }
      if !playback.isToldLive {
        playback.isToldLive = true
        tell(.live(playback.item.id))
      }
      return true
    }

    /// Tells where it waits, or waits no longer. mpv itself tells it of sound devices alone, not of
    /// files.
    func lookAtWaiting() {
      guard let playback = playing.current, playback.isHeard else { return }
      let isStill = clock.isStill(.now) && playback.isReading
      let isWaiting = !isPaused && (isWaitingForCache || isStill)
      let now = isWaiting ? playback.absence.map(WaitingReason.network) ?? .bytes : nil
      guard now != waiting else { return }
      waiting = now
      tell(.waiting(playback.item.id, now))
    }

    func finish(_ ended: MPVPlaylist.Item, _ end: mpv_event_end_file) {
      forget([ended])
      (waiting, interruption) = (nil, nil)
      let playback = ended.playback
      switch end.reason {
      case MPV_END_FILE_REASON_STOP, MPV_END_FILE_REASON_QUIT, MPV_END_FILE_REASON_REDIRECT:
        break
      // libmpv takes failed reads for the end where it can: missing bytes have the last word.
      case MPV_END_FILE_REASON_EOF where playback.error == nil:
        playing.noteEnd(of: playback.item.id)
      // To libmpv, an item without a sound is an error.
      case MPV_END_FILE_REASON_ERROR where playback.error == nil && clock.isPastEnd:
        playing.noteEnd(of: playback.item.id)
      default:
        // mpv would go on with what follows by itself.
        forget(playing.replaceAll(with: nil, entry: 0))
        command("stop")
        tell(
          .failed(
            playback.item.id,
            playback.error ?? mpv.error(end.error, playing: playback.item.media.url)))
      }
    }

    // MARK: Properties

    /// Flags are 0 and 1.
    func number(_ property: String) -> Double? {
      var value = 0.0
      if mpv.get_property(handle, property, MPV_FORMAT_DOUBLE, &value) >= 0 { return value }
      var flag: CInt = 0
      return mpv.get_property(handle, property, MPV_FORMAT_FLAG, &flag) >= 0 ? Double(flag) : nil
    }

    func text(_ property: String) -> String? {
      guard let value = mpv.get_property_string(handle, property) else { return nil }
      defer { mpv.free(value) }
      return String(cString: value)
    }
  }

  extension mpv_event_property {
    func value<Value>(as type: Value.Type) -> Value? {
      data?.assumingMemoryBound(to: type).pointee
    }
  }
#endif
