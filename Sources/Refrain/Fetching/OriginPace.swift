// SPDX-License-Identifier: MIT
import RefrainLocks

/// Bounds the rate at which bytes are received from all origins together. The rate can change at
/// any time. May be used from any thread.
final class OriginPace: Sendable {
  private struct State: Sendable {
    var bytesPerSecond: Int64?
    /// Nil if the rate is not bounded.
    var bucket: TokenBucket?
  }

  private let state: Mutex<State>

  /// What may be received at once after a pause, in seconds of the rate.
  private static let burst = 0.25
  /// How long a pause lasts at most before it notices another rate.
  private static let patience = Duration.milliseconds(250)

  /// - Parameter bytesPerSecond: at least 1; nil: not bounded.
  init(bytesPerSecond: Int64?) {
    state = Mutex(Self.state(bytesPerSecond))
  }

  private static func state(_ bytesPerSecond: Int64?) -> State {
    let bucket = bytesPerSecond.map { bytes in
      let rate = Double(max(1, bytes))
      return TokenBucket(rate: rate, capacity: rate * burst, at: now)
    }
    return State(bytesPerSecond: bytesPerSecond, bucket: bucket)
  }

  private static var now: Double { Moment.now.uptime.seconds }

  /// The rate. A new one counts from the next received bytes on; what was owed to the old one is
  /// forgotten.
  var bytesPerSecond: Int64? {
    get { state.withLock { $0.bytesPerSecond } }
    set {
      state.withLock { state in
        if state.bytesPerSecond != newValue { state = Self.state(newValue) }
      }
    }
  }

  /// Counts received bytes. Returns how long to pause before more are received; nil: not at all.
  func delay(after count: Int) -> Duration? {
    let seconds = state.withLock { $0.bucket?.spend(Double(count), at: Self.now) ?? 0 }
    return seconds > 0 ? .seconds(seconds) : nil
  }

  /// Pauses, until the rate changes. Cancellation ends the pause too: whoever reads on then notices
  /// it.
  ///
  /// - Parameter isOver: asked several times a second; true ends the pause.
  func pause(_ delay: Duration, unless isOver: () -> Bool = { false }) async {
    let rate = bytesPerSecond
    var rest = delay
    while rest > .zero, !Task.isCancelled {
      try? await Task.sleep(for: min(rest, Self.patience))
      rest -= Self.patience
      if bytesPerSecond != rate || isOver() { return }
    }
  }
}

extension MediaCache {
  /// Counts bytes of a relayed response, and pauses for as long as `originRate` requires.
  package func paceOrigin(_ count: Int) async {
    guard let delay = context.originPace.delay(after: count) else { return }
    await context.originPace.pause(delay)
  }
}
