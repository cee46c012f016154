// SPDX-License-Identifier: MIT
import RefrainLocks

/// Bounds the rate at which bytes are received from all origins together.
final class OriginPace: Sendable {
  private let bucket: Mutex<TokenBucket>

  /// What may be received at once after a pause, in seconds of the rate.
  private static let burst = 0.25

  /// - Parameter bytesPerSecond: at least 1.
  init(bytesPerSecond: Int64) {
    let rate = Double(max(1, bytesPerSecond))
    bucket = Mutex(TokenBucket(rate: rate, capacity: rate * Self.burst, at: Self.now))
  }

  private static var now: Double { Moment.now.uptime.seconds }

  /// Counts received bytes. Returns how long to pause before more are received; nil: not at all.
  func delay(after count: Int) -> Duration? {
    let seconds = bucket.withLock { $0.spend(Double(count), at: Self.now) }
    return seconds > 0 ? .seconds(seconds) : nil
  }

  /// Pauses. Cancellation ends the pause: whoever reads on then notices it.
  static func pause(_ delay: Duration) async { try? await Task.sleep(for: delay) }
}

extension MediaCache {
  /// Counts bytes of a relayed response, and pauses for as long as `Configuration.originRate`
  /// requires.
  package func paceOrigin(_ count: Int) async {
    guard let delay = context.originPace?.delay(after: count) else { return }
    await OriginPace.pause(delay)
  }
}
