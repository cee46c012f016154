// SPDX-License-Identifier: MIT
import Foundation

#if canImport(AVFoundation)
  import AVFoundation
  import CoreMedia
#else
  import AVFoundationStandIn
#endif

/// The party that set a player's rate to 0.
enum Stopper: Sendable {
  /// The system: for a phone call, or because the app and its video went to the background.
  case system
  /// The engine, or another holder of the player.
  case caller
  /// AVPlayer, which was asked to play and could not.
  case refused
  /// AVPlayer gives no reason; it may have run out of bytes.
  case unknown
}

/// Observes one player until this object is released.
@MainActor final class PlayerObservation {
  private let player: AVQueuePlayer
  private let notifications = NotificationObservers()
  private let observations: [NSKeyValueObservation]
  private var clock: TimeObserver?
  private let onTime: @MainActor @Sendable (CMTime) -> Void

  /// - Parameters:
  ///   - onChange: called on any thread when something may have changed.
  ///   - onStop: called when the rate has changed, possibly to 0.
  ///   - onTime: called while the player plays.
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

  /// Reports the time about ten times per second of real time.
  func setRate(_ rate: Double) {
    clock = nil
    let interval = CMTime(seconds: max(rate, 1) / 10, preferredTimescale: 600)
    let token = player.addPeriodicTimeObserver(forInterval: interval, queue: .main) {
      @Sendable [onTime] time in onMainThread { onTime(time) }
    }
    clock = TimeObserver(player: player, token: token)
  }
}

/// A periodic time observer, removed from its player before the player is released.
private final class TimeObserver {
  private let player: AVQueuePlayer
  private let token: Any

  init(player: AVQueuePlayer, token: Any) {
    self.player = player
    self.token = token
  }

  deinit { player.removeTimeObserver(token) }
}
