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

/// AVPlayer reports changes one property at a time, in no documented order and from within calls to
/// it, so no single report is conclusive. Each one schedules a pass that compares the whole state
/// with the last reported one, and reports the differences.
extension AVPlayerEngine {
  /// Reports that something may have changed. May be called on any thread, any number of times.
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

  /// Schedules a pass at `instant`, for changes that AVPlayer does not report.
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
    // A listener may call the engine: a load empties `pending`.
    while !pending.isEmpty {
      let event = pending.removeFirst()
      report?(event)
    }
  }

  // MARK: From item to item

  /// Advances past ended items to the one that plays. A failed item clears the queue.
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

  /// Returns the error of a player that has failed, and replaces the player.
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
    // The player's queue advances by itself if it holds the next item.
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
    // The item may have been found to have pictures, or to be loaded by AVFoundation itself.
    if heldPlayer.automaticallyWaitsToMinimizeStalling != playing.waitsByItself { suit(playing) }
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
    if playing.isLive { refuseSeek(playing) }
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

  /// Ends an item that is sought to its end: a paused AVPlayer would stay there.
  private func seekToTheEnd(_ playing: PlayingItem, _ end: Duration, _ serial: Int?) {
    if let serial { pending.append(.seekCompleted(playing.item.id, serial: serial, at: end)) }
    heldPlayer.advanceToNextItem()
    goOn(after: playing)
    advance()
    if let current { syncState(at: current) }
  }

  /// Applies the wanted state to the player, or detects that another party has started it.
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
    } else if heldPlayer.reasonForWaitingToPlay == .toMinimizeStalls, playing.asset.isMediated {
      endWaiting(playing)
    }
  }

  /// Ends AVPlayer's own wait once enough is loaded: it predicts the rate of its own connections, not
  /// that of a delegate's bytes, and might wait for good.
  private func endWaiting(_ playing: PlayingItem) {
    guard playing.hasEnough else { return }
    playing.standstill.noteStall()
    let advice = playing.standstill.advice(
      canGoOn: true, position: playing.position, now: .now)
    switch advice {
    case .wait(let end): if let end { syncState(at: end) }
    case .goOn(let end):
      heldPlayer.playImmediately(atRate: Float(rate))
      syncState(at: end)
    case .pause: break
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
      refuseSeek(playing)
    }
    pending.append(.duration(playing.item.id, duration))
  }

  /// Drops the seek that is wanted in a live stream, which plays from where it was joined.
  private func refuseSeek(_ playing: PlayingItem) {
    guard let serial = playing.seeks.refuse() else { return }
    pending.append(.seekCompleted(playing.item.id, serial: serial, at: playing.position))
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
