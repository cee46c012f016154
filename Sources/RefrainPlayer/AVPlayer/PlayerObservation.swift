// SPDX-License-Identifier: MIT
import Foundation

#if canImport(AVFoundation)
  import AVFoundation
  import CoreMedia
#else
  import AVFoundationStandIn
#endif

/// Who set a player's rate to 0.
enum Stopper: Sendable {
  /// A phone call; or the app went to the background, and its pictures with it.
  case system
  /// The engine, or whoever else has the player.
  case caller
  /// AVPlayer itself: it was asked to play, and could not.
  case refused
  /// AVPlayer does not say: it ran out of bytes, perhaps.
  case unknown
}

/// Watches one player until it is let go.
@MainActor final class PlayerObservation {
  private let player: AVQueuePlayer
  private let notifications = NotificationObservers()
  private let observations: [NSKeyValueObservation]
  private var clock: TimeObserver?
  private let onTime: @MainActor @Sendable (CMTime) -> Void

  /// - Parameters:
  ///   - onChange: called on any thread when something may be otherwise than it was.
  ///   - onStop: called when its rate has changed, to 0 perhaps.
  ///   - onTime: called while it plays.
  init(
    _ player: AVQueuePlayer, onChange: @escaping @Sendable () -> Void,
    onStop: @escaping @MainActor @Sendable (Stopper) -> Void,
    onTime: @escaping @MainActor @Sendable (CMTime) -> Void
  ) {
    self.player = player
    self.onTime = onTime
    observations = [
      player.observe(\.status) { @Sendable _, _ in onChange() },
      player.observe(\.currentItem) { @Sendable _, _ in onChange() },
      player.observe(\.rate) { @Sendable _, _ in onChange() },
      player.observe(\.timeControlStatus) { @Sendable _, _ in onChange() },
      player.observe(\.reasonForWaitingToPlay) { @Sendable _, _ in onChange() },
    ]
    let key = AVPlayer.rateDidChangeReasonKey
    notifications.add(AVPlayer.rateDidChangeNotification, of: player) { notification in
      let reason = (notification.userInfo?[key] as? String)
        .map(AVPlayer.RateDidChangeReason.init(rawValue:))
      let stopper: Stopper =
        switch reason {
        case .audioSessionInterrupted?, .appBackgrounded?: .system
        case .setRateCalled?: .caller
        case .setRateFailed?: .refused
        default: .unknown
        }
      onMainThread { onStop(stopper) }
      onChange()
    }
  }

  /// Tells the time some ten times a second, as the clock on the wall has it.
  func setRate(_ rate: Double) {
    clock = nil
    let interval = CMTime(seconds: max(rate, 1) / 10, preferredTimescale: 600)
    let token = player.addPeriodicTimeObserver(forInterval: interval, queue: .main) {
      @Sendable [onTime] time in onMainThread { onTime(time) }
    }
    clock = TimeObserver(player: player, token: token)
  }
}

/// A player wants its observers taken back before they go.
private final class TimeObserver {
  private let player: AVQueuePlayer
  private let token: Any

  init(player: AVQueuePlayer, token: Any) {
    self.player = player
    self.token = token
  }

  deinit { player.removeTimeObserver(token) }
}
