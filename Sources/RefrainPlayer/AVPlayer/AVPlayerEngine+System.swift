// SPDX-License-Identifier: MIT
import Foundation

#if canImport(AVFoundation)
  import AVFoundation
#else
  import AVFoundationStandIn
#endif

/// Handles changes from outside the engine: by the system (a phone call) or by the controls of a
/// `VideoPlayer`.
extension AVPlayerEngine {
  /// Records a stall. A player that does not wait by itself stops where its bytes end. Only an
  /// empty buffer shows that, and it is checked at once because more bytes may arrive in the next
  /// moment.
  func noticeStall() {
    guard isPlaying, isDriven, heldPlayer.rate == 0, let current,
      current.playerItem.isPlaybackBufferEmpty
    else { return }
    current.standstill.noteStall()
  }

  /// Handles a rate change and the reason that AVPlayer gives. Only this and the audio session's
  /// reports pause the engine; a rate of 0 alone does not (see `Standstill`).
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

  /// Sets the player's rate, and records that AVPlayer's report of it is the engine's own.
  func setPlayerRate(_ rate: Float) {
    guard heldPlayer.rate != rate else { return }
    ownRateChanges.note(at: .now)
    heldPlayer.rate = rate
  }

  /// - Parameter halt: the kind of pause, which decides whether playback may resume.
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
      // AVPlayer may have been paused before this report.
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

  /// Handles changes of a session that the app manages: they explain why AVPlayer stops, if it
  /// does.
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

  /// Replaces the player: a reset invalidates every player of the process. Apple's documentation of
  /// `mediaServicesWereResetNotification` asks apps not to resume before the user does.
  private func servicesWereReset() {
    pauseBySystem(.none)
    halt = .none
    replacePlayer()
    restart()
  }
}
