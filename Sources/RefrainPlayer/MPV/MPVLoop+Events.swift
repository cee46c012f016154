// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Refrain

  /// Handles libmpv's events.
  extension MPVLoop {
    func take(_ event: mpv_event) {
      switch event.event_id {
      case MPV_EVENT_START_FILE:
        guard let start = event.data?.assumingMemoryBound(to: mpv_event_start_file.self) else {
          return
        }
        begin(entry: start.pointee.playlist_entry_id)
      case MPV_EVENT_SEEK:
        if clock.begin() {
          interruption = .now + .milliseconds(250)
        } else if playsVideo, let playback = playing.current, playback.isHeard {
          // A seek by the controller in the window.
          playback.expectSeek()
          interruption = .now + .milliseconds(250)
        }
      case MPV_EVENT_CLIENT_MESSAGE:
        guard let message = event.data?.assumingMemoryBound(to: mpv_event_client_message.self)
        else { return }
        take(message.pointee)
      case MPV_EVENT_PLAYBACK_RESTART:
        restart()
      case MPV_EVENT_AUDIO_RECONFIG:
        // Another device was chosen, or the one that played is gone.
        if playing.current?.isHeard == true { tellAudio() }
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
      // The property that libmpv recommends in place of this event is also set between two items.
      case MPV_EVENT_IDLE:
        let events = playing.rest()
        guard !events.isEmpty else { return }
        // Removes an item that was appended too late to follow.
        command("playlist-clear")
        forget(playing.removeFollowing())
        for event in events { tell(event) }
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

    /// Records that an item follows by itself, which begins without a seek.
    private func beginFollowing() {
      clock = MPVClock()
      playing.current?.noteStream(position: .zero)
    }

    /// Handles the beginning of an entry of mpv's list.
    private func begin(entry: Int64) {
      let follows = playing.ended != nil
      switch playing.begin(entry: entry) {
      case .item(let events):
        if follows {
          beginFollowing()
          // Removes the previous item: a button of the controller would go back to it.
          command("playlist-clear")
        }
        if let reloaded, events == [.began(reloaded)] {
          // A seek, for which libmpv has no event of its own here.
          _ = clock.begin()
        } else {
          for event in events { tell(event) }
        }
        reloaded = nil
      case .early:
        beginFollowing()
        // The queue decides what follows.
        tell(.requested(.next))
      case .foreign(let id):
        command("stop")
        forget(playing.removeFollowing())
        tell(.displaced(id))
      case .removed:
        beginFollowing()
        command("stop")
        for event in playing.rest() { tell(event) }
      case .replaced: break
      }
    }

    /// Handles the opening of the current item, before any of it is audible.
    func opened() {
      guard let playback = playing.current else { return }
      beginTracks(of: playback)
      if playback.item.streamURL != nil { openedStream(playback) }
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

    /// Handles the start of playback, at the beginning or after a seek.
    func restart() {
      clock.advance(.now)
      // `seeking` is unavailable if the item is over already.
      guard let playback = playing.current, number("seeking") != 1, clock.placePastEnd == nil
      else { return }
      interruption = nil
      let id = playback.item.id
      let position = self.position
      let isLive = noteLive(playback)
      let arrival = clock.arrive(at: position)
      if playback.isHeard {
        if shown.kept != nil { hearTracks(of: playback) }
        if case .none = arrival { tell(.position(id, position)) }
      } else {
        playback.isHeard = true
        tellAll(of: playback)
        tellWindow(of: playback)
        tell(.ready(id, at: position))
        tellShown(of: playback)
        tellAudio()
      }
      switch arrival {
      case .none: break
      case .seekCompleted(let serial): tellCompleted(serial, of: id, at: position)
      case .further where isLive && !playback.canRewind:
        if let serial = clock.abandon() { tellCompleted(serial, of: id, at: position) }
      case .further(let seek): go(to: seek)
      }
    }

    func take(_ change: mpv_event_property) {
      guard let property = MPVProperty(rawValue: String(cString: change.name)) else { return }
      if property.isOfListener { return noteListener(property) }
      if property.isOfWindow { return tellWindow() }
      if property == .isWaiting { isWaitingForCache = change.value(as: CInt.self) == 1 }
      let number = change.format == MPV_FORMAT_DOUBLE ? change.value(as: Double.self) : nil
      guard let playback = playing.current else { return }
      let id = playback.item.id
      switch property {
      case .position:
        guard let number, number.isFinite else { return }
        let position = Self.position(number)
        if self.number("seeking") != 1, clock.moves(to: position) { restart() }
        guard playback.isHeard else { return }
        clock.advance(.now)
        playback.noteStream(position: position)
        if clock.isDue(.now) { tell(.position(id, position)) }
      case .duration:
        guard change.format == MPV_FORMAT_NONE || number?.isFinite == true else { return }
        guard !noteLive(playback), !playback.hasGrowingDuration else { return }
        // A duration reported for an open end before the first sound is checked at that sound.
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
      case .tracks:
        tellTracks(of: playback)
        noteSelection(of: playback)
      case .isWaiting, .isPaused, .volume, .isMuted, .hasWindow, .isFullscreen: break
      }
    }

    /// Reports the values that libmpv does not report if they equal those of the previous item.
    func tellAll(of playback: MPVPlayback) {
      let id = playback.item.id
      let duration = number(MPVProperty.duration.rawValue)
      if playback.isOpenEnded {
        // If the format states no length, libmpv reports the demuxed part as the whole.
        let demuxed = number(MPVProperty.buffered.rawValue) ?? 0
        playback.hasGrowingDuration = playback.isLive || (duration ?? 0) < demuxed + 1
      }
      tell(.duration(id, playback.hasGrowingDuration ? nil : duration.map { .seconds($0) }))
      tellTracks(of: playback)
      var node = mpv_node()
      let name = MPVProperty.metadata.rawValue
      guard mpv.get_property(handle, name, MPV_FORMAT_NODE, &node) >= 0 else { return }
      defer { mpv.free_node_contents(&node) }
      tell(.metadata(id, MediaMetadata(tags: node.texts)))
    }

    /// Reports whether a sound device plays, if that has changed. An item without sound has none
    /// open.
    private func tellAudio() {
      guard output == .device, shown.tracks?.selected(.audio) != nil,
        let driver = text("current-ao"), (driver == "null") != isSilent
      else { return }
      isSilent.toggle()
      tell(isSilent ? .audioUnavailable : .audioAvailable)
    }

    func ranges(upTo end: Double) -> [Range<Duration>] {
      let position = max(0, number("time-pos") ?? 0)
      return end > position ? [.seconds(position)..<Duration.seconds(end)] : []
    }

    /// Returns a position. mpv's seconds are negative at the gapless start of an item, while the
    /// end of the previous one is still audible.
    static func position(_ seconds: Double) -> Duration { .seconds(max(0, seconds)) }

    /// The current position; the start if it is unknown.
    var position: Duration { knownPosition ?? .zero }

    /// The current position; nil while no file is loaded.
    private var knownPosition: Duration? { number("time-pos").map { Self.position($0) } }

    /// Reports a live stream once. Returns whether the item is one.
    @discardableResult
    func noteLive(_ playback: MPVPlayback) -> Bool {
      guard playback.isLive else { return false }
      if !playback.isToldLive {
        playback.isToldLive = true
        keep(playback)
        tell(.live(playback.item.id))
      }
      return true
    }

    /// Reports that playback waits, or no longer waits. mpv itself reports this for sound devices
    /// only, not for output files.
    func lookAtWaiting() {
      guard let playback = playing.current, playback.isHeard else { return }
      let isStill = clock.isStill(.now) && playback.isReading
      let isWaiting = !isPaused && (isWaitingForCache || isStill)
      let now = isWaiting ? playback.absence.map(WaitingReason.network) ?? .bytes : nil
      guard now != waiting else { return }
      // Positions come a few times per second: the last one may be of a while ago. An item that
      // libmpv has ended has none.
      if waiting == nil, !clock.isSeeking, let position = knownPosition {
        tell(.position(playback.item.id, position))
      }
      waiting = now
      tell(.waiting(playback.item.id, now))
    }

    func finish(_ ended: MPVPlaylist.Item, _ end: mpv_event_end_file) {
      forget([ended])
      (waiting, interruption) = (nil, nil)
      let playback = ended.playback
      switch end.reason {
      case MPV_END_FILE_REASON_QUIT, MPV_END_FILE_REASON_REDIRECT: break
      // The engine's own commands remove an item before mpv ends it.
      case MPV_END_FILE_REASON_STOP: playing.noteDisplacement(of: playback.item.id)
      // libmpv treats failed reads as the end if it can: missing bytes take precedence.
      case MPV_END_FILE_REASON_EOF where playback.error == nil && interruption(of: playback) == nil:
        // An output file is written faster than positions are reported.
        if case .wavFile = output, let place = clock.placePastEnd, !playback.isHeard {
          playback.isHeard = true
          tell(.ready(playback.item.id, at: place))
        }
        playing.noteEnd(of: playback.item.id)
      // To libmpv, an item without a sound is an error.
      case MPV_END_FILE_REASON_ERROR
      where playback.error == nil && clock.placePastEnd != nil && !playback.isHeard:
        playing.noteEnd(of: playback.item.id)
      default:
        // mpv would continue with the following item by itself.
        forget(playing.replaceAll(with: nil, entry: 0))
        command("stop")
        tell(
          .failed(
            playback.item.id,
            playback.error ?? interruption(of: playback)
              ?? mpv.error(end.error, playing: playback.item)))
      }
    }

    // MARK: Properties

    /// Returns a property as a number; a flag as 0 or 1.
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
