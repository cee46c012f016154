// SPDX-License-Identifier: MIT
import RefrainLocks

/// Bounds the rate at which bytes are received from all origins together. The rate can change at
/// any time. May be used from any thread.
final class OriginPace: Sendable {
  private struct State: Sendable {
    var bytesPerSecond: Int64?
    /// Nil if the rate is not bounded.
    var bucket: TokenBucket?
    /// How often the rate has changed.
    var changes: UInt64 = 0
  }

  /// How long to pause, and for which rate.
  struct Delay: Sendable {
    fileprivate let duration: Duration
    fileprivate let changes: UInt64
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
        guard state.bytesPerSecond != newValue else { return }
        let changes = state.changes + 1
        state = Self.state(newValue)
        state.changes = changes
      }
    }
  }

  /// Counts received bytes. Returns how long to pause before more are received; nil: not at all.
  func delay(after count: Int) -> Delay? {
    state.withLock { state in
      let seconds = state.bucket?.spend(Double(count), at: Self.now) ?? 0
      return seconds > 0 ? Delay(duration: .seconds(seconds), changes: state.changes) : nil
    }
  }

  /// Pauses, until the rate changes; not at all if it has changed since the delay was counted.
  /// Cancellation ends the pause too: whoever reads on then notices it.
  ///
  /// - Parameter isOver: asked several times a second; true ends the pause.
  func pause(_ delay: Delay, unless isOver: () -> Bool = { false }) async {
    var rest = delay.duration
    while rest > .zero, !Task.isCancelled, state.withLock(\.changes) == delay.changes {
      try? await Task.sleep(for: min(rest, Self.patience))
      rest -= Self.patience
      if isOver() { return }
    }
  }
}
