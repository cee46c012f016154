// SPDX-License-Identifier: MIT
import Foundation

#if canImport(AVFoundation)
  import AVFoundation
#else
  import AVFoundationStandIn
#endif

/// What others do to the player: the system, for a call; a `VideoPlayer`, for whoever taps it.
extension AVPlayerEngine {
  /// A player that does not wait by itself stops where its bytes end. An empty buffer shows that at
  /// once, and has to be looked at in that moment, for more bytes may come in the next.
  func noticeStall() {
    guard isPlaying, isDriven, heldPlayer.rate == 0, let current,
      current.playerItem.isPlaybackBufferEmpty
    else { return }
    current.standstill.noteStall()
  }

  /// The player's rate has changed, and AVPlayer says why. This, and what the audio session reports,
  /// is all that pauses; a rate of 0 by itself does not (see `Standstill`).
  func stopped(by stopper: Stopper) {
    let isOwn = stopper == .caller && ownRateChanges.take(at: .now)
    guard !isOwn, isPlaying, isDriven, heldPlayer.rate == 0, let current else { return }
    let isStall = current.standstill.isStall || current.playerItem.isPlaybackBufferEmpty
    switch stopper {
    case .system: pauseBySystem(.system)
    case .caller: if !isStall, !current.isAtEnd { pauseBySystem(.none) }
    case .refused: if !isStall, current.canGoOn { pauseBySystem(.system) }
    case .unknown: break
    }
  }

  /// Sets the player's rate; AVPlayer's report of that is then known to be of the engine's doing.
  func setPlayerRate(_ rate: Float) {
    guard heldPlayer.rate != rate else { return }
    ownRateChanges.note(at: .now)
    heldPlayer.rate = rate
  }

  /// - Parameter halt: what may have it go on.
  func pauseBySystem(_ halt: Halt) {
    guard isPlaying, let current else { return }
    (isPlaying, isDriven) = (false, false)
    self.halt = halt
    current.standstill = Standstill()
    setPlayerRate(0)
    pending.append(.pausedBySystem(true))
    lookSoon()
  }

  func audioChanged(_ change: AudioSession.Change) {
    if let audio, !audio.isControlled { return sessionOfAppChanged(change) }
    switch change {
    case .interrupted:
      // AVPlayer may have been paused before this was told.
      if halt == .system { halt = .interruption }
      pauseBySystem(.interruption)
    case .interruptionEnded(let shouldResume):
      guard halt == .interruption else { return }
      halt = .none
      guard shouldResume, current != nil else { return }
      (isPlaying, isDriven) = (true, false)
      pending.append(.pausedBySystem(false))
      audio?.activate()
      lookSoon()
    case .outputGone:
      halt = .none
      pauseBySystem(.none)
    case .servicesReset: servicesWereReset()
    case .refused: pauseBySystem(.none)
    }
  }

  /// The app looks after its session. These changes explain why AVPlayer stops, where it does.
  private func sessionOfAppChanged(_ change: AudioSession.Change) {
    switch change {
    case .interrupted, .outputGone:
      guard isPlaying, isDriven, let current else { return }
      current.standstill.noteExplanation(at: .now)
      lookSoon()
    case .servicesReset: servicesWereReset()
    case .interruptionEnded, .refused: break
    }
  }

  /// Every player of this process is void. Apple's documentation of
  /// `mediaServicesWereResetNotification` asks not to play again before the user wants it.
  private func servicesWereReset() {
    pauseBySystem(.none)
    halt = .none
    replacePlayer()
    restart()
  }
}
