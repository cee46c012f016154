// SPDX-License-Identifier: MIT

extension PlayerMachine {
  mutating func handle(_ command: PlayerCommand) -> [PlayerAction] {
    var actions: [PlayerAction] = []
    if command.isChoice { (lastFailure, failures) = (nil, 0) }
    switch command {
    case .play(let media, let index, let position):
      leave(&actions)
      state.queue.replace(with: media, startingAt: index)
      state.wantsToPlay = true
      loadCurrent(at: position > .zero ? position : nil, &actions)
      if position > .zero, isOccupied { (beginning, beginsAtMark) = (position, false) }
    case .enqueue(let media): state.queue.append(media)
    case .insertNext(let media): state.queue.insertNext(media)
    case .insert(let media, let index): state.queue.insert(media, at: index)
    case .remove(let id): remove(id, &actions)
    case .move(let id, let index): _ = state.queue.move(id, to: index)
    case .removeAll:
      leave(&actions)
      state.queue.removeAll()
      rest(.idle, &actions)
    case .jump(let id): jump(to: id, &actions)
    case .next: goOn(&actions)
    case .previous: goBack(&actions)
    case .resume: resume(&actions)
    case .pause: pause(&actions)
    case .stop:
      leave(&actions)
      rest(.idle, &actions)
      isStopped = state.item != nil
    case .seek(let position): seek(to: position, &actions)
    case .skip(let distance):
      let target = (seeking?.target ?? state.position) + distance
      seek(to: min(target, state.duration ?? target), &actions)
    case .seekToLive: seekToLive(&actions)
    case .scrub(let position):
      if state.isLive {
        seek(to: position, &actions)
      } else if let stored = state.cachedRanges.nearest(to: position) {
        seek(to: stored, &actions)
      }
    case .setRate(let rate):
      guard rate.isFinite else { break }
      state.rate = rate.limited(to: Player.rates)
      actions.append(.setRate(state.rate))
    case .setVolume(let volume):
      guard volume.isFinite else { break }
      state.volume = min(max(volume, 0), 1)
      noteVolumeChoice()
      actions.append(.setVolume(state.volume, isMuted: state.isMuted))
    case .setMuted(let isMuted):
      state.isMuted = isMuted
      actions.append(.setVolume(state.volume, isMuted: isMuted))
    case .setRepeatMode(let mode): state.queue.repeatMode = mode
    case .setShuffled(let isShuffled): state.queue.setShuffled(isShuffled)
    case .setSleepTimer(let timer): state.sleepTimer = timer
    case .select(let track, let kind):
      if select(track, of: kind, &actions) { noteTrackChoice(kind, &actions) }
    case .setShowsVideo(let showsVideo):
      state.showsVideo = showsVideo
      actions.append(.setShowsVideo(showsVideo))
    case .setFullscreen(let isFullscreen):
      // The engine would keep it for its next window. The state follows its report.
      if state.isFullscreen != nil { actions.append(.setFullscreen(isFullscreen)) }
    case .setAudioDevice(let device):
      state.audioDevice = device
      actions.append(.setAudioDevice(device))
    case .restore(let session): restore(session, &actions)
    case .fallAsleep:
      state.sleepTimer = nil
      pause(&actions)
    case .retry:
      if case .absent = stage { loadAgain(&actions) }
    }
    settle(&actions)
    return actions
  }

  private mutating func remove(_ id: PlayQueue.Item.ID, _ actions: inout [PlayerAction]) {
    guard id == state.item?.id else {
      _ = state.queue.remove(id)
      return
    }
    let isLoaded = isOccupied
    if isLoaded { leave(&actions) }
    _ = state.queue.remove(id)
    if isLoaded, state.item != nil { loadCurrent(&actions) } else { rest(.idle, &actions) }
  }

  private mutating func jump(to id: PlayQueue.Item.ID, _ actions: inout [PlayerAction]) {
    guard state.queue.items.contains(where: { $0.id == id }) else { return }
    // The current item restarts.
    let position: Duration? = id == state.item?.id ? .zero : nil
    leave(&actions)
    _ = state.queue.jump(to: id)
    state.wantsToPlay = true
    loadCurrent(at: position, &actions)
  }

  private mutating func goOn(_ actions: inout [PlayerAction]) {
    guard !state.queue.isEmpty else { return }
    guard state.queue.next(.asked) != nil else {
      guard isOccupied else { return }
      leave(&actions)
      return rest(.ended, &actions)
    }
    leave(&actions)
    if !isOccupied { state.wantsToPlay = true }
    state.queue.advance(.asked)
    loadCurrent(&actions)
  }

  private mutating func goBack(_ actions: inout [PlayerAction]) {
    guard state.item != nil else { return }
    let isEarly = (seeking?.target ?? state.position) <= Self.restartThreshold
    if isEarly, state.queue.previous() != nil {
      leave(&actions)
      if !isOccupied { state.wantsToPlay = true }
      state.queue.goBack()
      loadCurrent(&actions)
    } else if isOccupied, !state.isLive || canRewind {
      seek(to: .zero, &actions)
    } else if isOccupied {
      leave(&actions)
      loadCurrent(&actions)
    } else {
      state.wantsToPlay = true
      loadCurrent(at: isStopped ? .zero : nil, &actions)
    }
  }

  mutating func resume(_ actions: inout [PlayerAction]) {
    isInterrupted = false
    switch stage {
    case .loading, .ready:
      guard !state.wantsToPlay else { return }
      state.wantsToPlay = true
      actions.append(.play)
    case .absent:
      state.wantsToPlay = true
      loadAgain(&actions)
    case .idle, .failed:
      if state.item == nil { state.queue.rewind() }
      guard state.item != nil else { return }
      state.wantsToPlay = true
      loadCurrent(at: isStopped || state.position > .zero ? state.position : nil, &actions)
    case .ended:
      // Continues with items added since, otherwise from the beginning.
      if state.queue.advance(.ended) == nil { state.queue.rewind() }
      guard state.item != nil else { return }
      state.wantsToPlay = true
      loadCurrent(&actions)
    }
  }

  mutating func pause(_ actions: inout [PlayerAction]) {
    guard state.wantsToPlay || isInterrupted else { return }
    isInterrupted = false
    state.wantsToPlay = false
    waiting = nil
    notePause()
    if engineItem != nil { actions.append(.pause) }
  }

  mutating func seek(to position: Duration, _ actions: inout [PlayerAction]) {
    guard state.item != nil else { return }
    guard !state.isLive || canRewind else { return refuseSeek(&actions) }
    (beginning, beginsAtMark) = (nil, false)
    let position = state.liveWindow?.nearest(to: position) ?? max(.zero, position)
    noteSeek(to: position)
    switch stage {
    case .loading, .ready:
      lastSerial += 1
      seeking = (lastSerial, position)
      state.position = position
      actions.append(.seek(position, serial: lastSerial))
    case .absent:
      state.position = position
      loadAgain(&actions)
    case .ended: loadCurrent(at: position, &actions)
    case .idle, .failed: state.position = position
    }
  }

  /// Reports that the current item, a live stream, does not seek.
  mutating func refuseSeek(_ actions: inout [PlayerAction]) {
    if let item = state.item { actions.append(.tell(.seekRefused(item))) }
  }

  private mutating func restore(_ session: PlayerSession, _ actions: inout [PlayerAction]) {
    leave(&actions)
    state.queue = session.queue
    rest(.idle, &actions)
    let finite = session.position.isFinite && session.position < 1e12
    state.position = .seconds(finite ? max(0, session.position) : 0)
    state.rate = session.rate.isFinite ? session.rate.limited(to: Player.rates) : 1
    state.volume = session.volume.isFinite ? min(max(session.volume, 0), 1) : 1
    state.isMuted = session.isMuted
    actions.append(.setRate(state.rate))
    actions.append(.setVolume(state.volume, isMuted: state.isMuted))
    restored = state.item.map {
      ($0.id, ItemChoices(audio: session.audio, subtitle: session.subtitle))
    }
  }
}
