// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainAVFoundation

#if canImport(AVFoundation)
  import AVFoundation
  import CoreMedia
#else
  import AVFoundationStandIn
#endif

/// AVPlayer tells of its changes one property at a time, in no promised order and from within calls to
/// it. So none of them means anything by itself: each has the engine look, soon, at how everything is,
/// and tell what is otherwise than it was told.
extension AVPlayerEngine {
  /// Something may have changed. Called on any thread, as often as one likes.
  var changed: @Sendable () -> Void {
    { [weak self] in
      onMainThread {
        self?.noticeStall()
        self?.lookSoon()
      }
    }
  }

  func lookSoon() {
    guard !isLookComing, !isClosed else { return }
    isLookComing = true
    Task { [weak self] in self?.syncState() }
  }

  /// Looks at that instant: something may have come that nothing reports.
  private func syncState(at instant: ContinuousClock.Instant) {
    guard wake?.time != instant else { return }
    wake?.task.cancel()
    let task = Task { [weak self] in
      do { try await Task.sleep(until: instant, clock: .continuous) } catch { return }
      self?.wake = nil
      self?.lookSoon()
    }
    wake = (instant, task)
  }

  private func syncState() {
    isLookComing = false
    advance()
    if let current { syncState(at: current) }
    // Whoever is told may call: a load empties what is pending.
    while !pending.isEmpty {
      let event = pending.removeFirst()
      report?(event)
    }
  }

  // MARK: From item to item

  /// Goes on to the item that plays, over all that have ended or failed.
  func advance() {
    while let playing = current {
      if !playing.told.hasBegun {
        playing.told.hasBegun = true
        pending.append(.began(playing.item.id))
      }
      if let failure = playing.failure ?? playerFailure(playing) {
        let events = pending + [.failed(playing.item.id, failure)]
        clear()
        pending = events
        return lookSoon()
      }
      guard hasEnded(playing) else { return }
      goOn(after: playing)
      lookSoon()
    }
  }

  /// AVPlayer says that it is of no use any more.
  private func playerFailure(_ playing: PlayingItem) -> MediaCacheError? {
    guard heldPlayer.status == .failed else { return nil }
    let error = heldPlayer.error
    replacePlayer()
    return MediaCacheError(
      avFoundation: error, cacheFailure: playing.asset.cacheFailure, playing: playing.item.media.url
    )
  }

  private func hasEnded(_ playing: PlayingItem) -> Bool {
    let items = heldPlayer.items()
    guard items.contains(where: { $0 === playing.playerItem }) else { return true }
    guard playing.hasPlayedToEnd else { return false }
    // The queue goes on by itself, where it has something to go on with.
    guard let next else { return true }
    return !items.contains { $0 === next.playerItem }
  }

  private func goOn(after playing: PlayingItem) {
    remember()
    let isNext = next.map { heldPlayer.items().first === $0.playerItem } ?? false
    let following = isNext ? next : nil
    pending.append(.ended(playing.item.id, followedBy: following?.item.id))
    (current, next) = (following, nil)
    if let following { return suit(following) }
    isDriven = false
    setPlayerRate(0)
    heldPlayer.removeAllItems()
  }

  // MARK: The current item

  private func syncState(at playing: PlayingItem) {
    tellBuffered(playing)
    // The cache may have found by now that AVFoundation has to load the item by itself.
    if heldPlayer.automaticallyWaitsToMinimizeStalling == playing.asset.isMediated { suit(playing) }
    guard playing.isReadyToPlay else { return }
    tellDuration(playing)
    tellMetadata(playing)
    if let end = playing.duration, let wanted = playing.seeks.wanted, wanted.position >= end {
      return seekToTheEnd(playing, end, wanted.serial)
    }
    seek(playing)
    if playing.seeks.isPending, playing.seeks.isRestart || !playing.told.isReady { return }
    drive(playing)
    tellReady(playing)
    tellWaiting(playing)
  }

  private func seek(_ playing: PlayingItem) {
    if let request = playing.seeks.begin() {
      let number = playing.seeks.number
      playing.playerItem.seek(
        to: request.position.mediaTime, toleranceBefore: .zero, toleranceAfter: .zero
      ) { @Sendable [weak self, weak playing] _ in
        onMainThread {
          playing?.seeks.end(number)
          self?.lookSoon()
        }
      }
    }
    if let serial = playing.seeks.takeOver() {
      pending.append(.seekCompleted(playing.item.id, serial: serial, at: playing.position))
    }
  }

  /// AVPlayer would stay at the end of an item that is sought there in a pause.
  private func seekToTheEnd(_ playing: PlayingItem, _ end: Duration, _ serial: Int?) {
    if let serial { pending.append(.seekCompleted(playing.item.id, serial: serial, at: end)) }
    heldPlayer.advanceToNextItem()
    goOn(after: playing)
    advance()
    if let current { syncState(at: current) }
  }

  /// Has the player do what is wanted, or finds that somebody else has had it do something.
  private func drive(_ playing: PlayingItem) {
    guard isPlaying else {
      guard heldPlayer.rate != 0 else { return }
      (isPlaying, isDriven, halt) = (true, true, .none)
      pending.append(.pausedBySystem(false))
      return
    }
    if !isDriven {
      isDriven = true
      playing.standstill = Standstill()
      setPlayerRate(Float(rate))
    } else if heldPlayer.rate == 0 {
      let advice = playing.standstill.advice(
        canGoOn: playing.canGoOn, position: playing.position, now: .now)
      switch advice {
      case .wait(let end): if let end { syncState(at: end) }
      case .goOn(let end):
        setPlayerRate(Float(rate))
        syncState(at: end)
      case .pause: pauseBySystem(.none)
      }
    } else if heldPlayer.timeControlStatus == .playing {
      playing.standstill.notePlaying(at: playing.position)
    }
  }

  // MARK: Telling

  private func tellBuffered(_ playing: PlayingItem) {
    let buffered = playing.buffered
    guard buffered != playing.told.buffered else { return }
    playing.told.buffered = buffered
    pending.append(.buffered(playing.item.id, buffered))
  }

  private func tellDuration(_ playing: PlayingItem) {
    let duration = playing.duration
    guard playing.told.duration != .some(duration) else { return }
    playing.told.duration = .some(duration)
    if playing.isLive, !playing.told.isLive {
      playing.told.isLive = true
      pending.append(.live(playing.item.id))
      // It plays from where it is joined.
      if let serial = playing.seeks.refuse() {
        pending.append(.seekCompleted(playing.item.id, serial: serial, at: playing.position))
      }
    }
    pending.append(.duration(playing.item.id, duration))
  }

  private func tellMetadata(_ playing: PlayingItem) {
    playing.loadMetadata()
    let metadata = playing.metadata
    guard metadata != playing.told.metadata else { return }
    playing.told.metadata = metadata
    pending.append(.metadata(playing.item.id, metadata))
  }

  private func tellReady(_ playing: PlayingItem) {
    guard !playing.told.isReady, !isPlaying || heldPlayer.timeControlStatus == .playing else {
      return
    }
    playing.told.isReady = true
    pending.append(.ready(playing.item.id, at: playing.position))
  }

  private func tellWaiting(_ playing: PlayingItem) {
    let isWaiting =
      isPlaying && playing.told.isReady && !playing.seeks.isPending
      && (heldPlayer.rate == 0
        ? playing.standstill.isStall : heldPlayer.reasonForWaitingToPlay == .toMinimizeStalls)
    let reason: WaitingReason? = isWaiting ? .bytes : nil
    guard reason != playing.told.waiting else { return }
    playing.told.waiting = reason
    pending.append(.waiting(playing.item.id, reason))
  }

  func timePassed(to time: CMTime) {
    guard let current, current.told.isReady, !current.seeks.isPending, !current.hasPlayedToEnd,
      heldPlayer.currentItem === current.playerItem, let position = Duration(time)
    else { return }
    pending.append(.position(current.item.id, max(position, .zero)))
    lookSoon()
  }
}
