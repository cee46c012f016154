// SPDX-License-Identifier: MIT
import Foundation

#if canImport(AVFoundation)
  import AVFoundation
#else
  import AVFoundationStandIn
#endif

/// What others do to the player: the system, for a call; a `VideoPlayer`, for whoever taps it.
extension AVPlayerEngine {
  /// A player that does not wait by itself stops where its bytes end, as if somebody had paused it.
  /// What tells the two apart has to be looked at in that moment, for more bytes may come in the next.
  func noticeStall() {
    guard isPlaying, isDriven, heldPlayer.rate == 0, let current,
      current.playerItem.isPlaybackBufferEmpty
    else { return }
    current.isStalled = true
  }

  /// The player's rate has changed, and it is known who did that.
  func stopped(by stopper: Stopper) {
    guard isPlaying, isDriven, heldPlayer.rate == 0, let current else { return }
    switch stopper {
    case .system: pauseBySystem(.system)
    case .caller:
      // The engine itself perhaps, when it had it play, where no bytes were then.
      guard !current.isStalled, !current.playerItem.isPlaybackBufferEmpty else { return }
      pauseBySystem(.none)
    case .unknown: break
    }
  }

  /// - Parameter halt: what may have it go on.
  func pauseBySystem(_ halt: Halt) {
    guard isPlaying, let current else { return }
    (isPlaying, isDriven) = (false, false)
    self.halt = halt
    current.isStalled = false
    heldPlayer.pause()
    pending.append(.pausedBySystem(true))
    lookSoon()
  }

  func audioChanged(_ change: AudioSession.Change) {
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
    case .servicesReset:
      replacePlayer()
      restart()
      if isPlaying { audio?.activate() }
    case .refused: pauseBySystem(.none)
    }
  }
}
