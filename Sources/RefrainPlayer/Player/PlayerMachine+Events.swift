// SPDX-License-Identifier: MIT
import Foundation
import Refrain

extension PlayerMachine {
  mutating func handle(_ event: EngineEvent) -> [PlayerAction] {
    var actions: [PlayerAction] = []
    if let id = event.item, id != engineItem { return [] }
    switch event {
    case .began: break
    case .ready(let id, let position):
      stage = .ready(id)
      // Loaded again, an item begins with its own selection.
      if isHeard { actions += selection.actions }
      absence = nil
      isHeard = true
      (beginning, beginsAtMark) = (nil, false)
      (lastFailure, failures) = (nil, 0)
      readyPosition = position
      if seeking == nil { state.position = position }
      if state.wantsToPlay { isInterrupted = false }
      showReceivedTitle()
    case .duration(_, .some) where state.isLive && absence != nil:
      // The broadcast has ended since. Loaded again, it would play from its start.
      end(followedBy: nil, &actions)
    case .duration(_, let duration):
      state.duration = state.isLive ? nil : duration
      if let beginning, let duration, beginning >= duration {
        beginsAtMark ? beginAtStart(&actions) : failBeyondEnd(beginning, &actions)
      }
    case .live: becomeLive(&actions)
    case .liveWindow(_, let window): noteWindow(window)
    case .streamTitle(_, let title):
      streamTitle = title
      combineMetadata()
    case .position(_, let position):
      guard seeking == nil else { break }
      state.position = position
      if position - readyPosition > .seconds(1) { patience = NetworkPatience() }
    case .buffered(_, let ranges): state.bufferedRanges = ranges
    case .waiting(_, let reason): waiting = state.wantsToPlay ? reason : nil
    case .seekCompleted(_, let serial, let position):
      guard let seeking, serial >= seeking.serial else { break }
      self.seeking = nil
      state.position = position
      readyPosition = position
      actions.append(.tell(.seekCompleted(position)))
    case .metadata(_, let metadata):
      tags = metadata
      combineMetadata()
    case .ended(_, let next):
      if let beginning {
        beginsAtMark ? beginAtStart(&actions) : failBeyondEnd(beginning, &actions)
      } else {
        end(followedBy: next, &actions)
      }
    case .failed(_, let error): fail(error, &actions)
    case .displaced: continueDisplaced(&actions)
    case .tracks(_, let tracks):
      state.tracks = tracks
      selectChosenTracks(&actions)
    case .video(_, let video): state.video = video
    case .subtitleFailed(_, let url, let error):
      if let item = state.item { actions.append(.tell(.subtitleFailed(item, url, error))) }
    case .videoUnavailable:
      if let item = state.item { actions.append(.tell(.videoUnavailable(item))) }
    case .window(let event): actions.append(.tell(.window(event)))
    case .fullscreen(let isFullscreen): state.isFullscreen = isFullscreen
    case .requested(let request): actions += fulfil(request)
    case .audioUnavailable: state.isSilent = true
    case .audioAvailable: state.isSilent = false
    case .pausedBySystem(true):
      guard state.wantsToPlay else { break }
      // The engine has paused, and knows what resumes it: a call of `pause` would discard that.
      state.wantsToPlay = false
      waiting = nil
      isInterrupted = true
      notePause()
    case .pausedBySystem(false):
      if isInterrupted { resume(&actions) }
    }
    settle(&actions)
    return actions
  }

  /// Marks the current item as a live stream, and refuses a seek or start position requested
  /// before.
  private mutating func becomeLive(_ actions: inout [PlayerAction]) {
    guard !state.isLive else { return }
    (state.isLive, state.duration, state.streamProgress) = (true, nil, nil)
    // Nobody has asked for that position now.
    if beginsAtMark { (beginning, beginsAtMark, state.position) = (nil, false, readyPosition) }
    if seeking != nil || beginning != nil {
      state.position = readyPosition
      refuseSeek(&actions)
    }
    (seeking, beginning) = (nil, nil)
  }

  private mutating func failBeyondEnd(_ position: Duration, _ actions: inout [PlayerAction]) {
    let url = state.item?.media.url.withoutUserInfo.absoluteString ?? "The item"
    let length = state.duration.map { "lasts \($0.asTime)" } ?? "ends before that"
    let error = MediaCacheError(
      .badRange, "\(url) cannot begin at \(position.asTime): it \(length).",
      remedy: "Choose a position before its end.")
    // A retry begins at the start.
    state.position = .zero
    fail(error, &actions)
  }

  mutating func end(followedBy next: EngineItem.ID?, _ actions: inout [PlayerAction]) {
    let finished = state.item?.media
    if let item = state.item { actions.append(.tell(.finished(item))) }
    leave(&actions)
    let follower = following
    let sleeps = state.sleepTimer == .endOfItem
    if sleeps {
      state.sleepTimer = nil
      state.wantsToPlay = false
    }
    guard let item = state.queue.advance(.ended) else { return rest(.ended, &actions) }
    if let next, !sleeps, next == follower?.engine, item.id == follower?.item.id {
      reset()
      stage = .loading(next)
      loaded = next
    } else {
      loadCurrent(after: finished, &actions)
    }
  }

  /// The number of changes of a resource after which its item fails.
  private static let mostChanges = 8

  /// Whether the current item is loaded again after an error: when the network returns; another
  /// version at the same position; a live stream at the present.
  func loadsAgain(after error: MediaCacheError) -> Bool {
    guard error.code == .resourceChanged, !state.isLive else {
      return isHeard && (patience.bears(error) || error.code == .resourceChanged)
    }
    return changes < Self.mostChanges
  }

  mutating func fail(_ error: MediaCacheError, _ actions: inout [PlayerAction]) {
    if loadsAgain(after: error) {
      if error.code == .resourceChanged { changes += 1 }
      stage = .absent(error)
      absence = error
      (seeking, waiting, following) = (nil, nil, nil)
      actions.append(.retry(after: patience.nextDelay()))
      return
    }
    let (item, next) = (state.item, state.queue.next(.ended))
    if let item { actions.append(.tell(.failed(item, error))) }
    leave(&actions)
    let isRepeated = lastFailure.map { $0.isSame(as: error) } ?? false
    // Without a network, say, the next item fails as well.
    let concernsNext = next?.id == item?.id || item.map { error.concernsOthers($0.media) } ?? true
    lastFailure = error
    failures += 1
    // A queue of which no item can be played is not tried endlessly.
    let isHopeless = isRepeated && concernsNext || failures >= state.queue.items.count
    guard !isHopeless, next != nil else {
      return rest(.failed(error), &actions)
    }
    state.queue.advance(.ended)
    loadCurrent(&actions)
  }
}

extension MediaCacheError {
  /// Returns whether the errors are of the same kind, whichever resource they concern.
  fileprivate func isSame(as other: MediaCacheError) -> Bool {
    code == other.code && status == other.status
  }

  /// Returns whether what made a media fail is likely to fail others. A missing resource does not,
  /// nor does the content of a file; the content of a response may be the login page of a network.
  fileprivate func concernsOthers(_ media: Media) -> Bool {
    switch code {
    case .badURL: false
    case .status: status != 404 && status != 410
    case .invalidResponse, .storage: !media.url.isFileURL
    default: true
    }
  }
}
