// SPDX-License-Identifier: MIT

/// The rate at which bytes may be received from all origins together.
struct OriginPace: Sendable {
  /// At least 1; nil: not bounded. A new rate forgets what was owed to the old one.
  var bytesPerSecond: Int64? {
    didSet { if bytesPerSecond != oldValue { due = 0 } }
  }
  /// When the rate permits the bytes that were received, in seconds of `Uptime`.
  private var due = 0.0

  init(bytesPerSecond: Int64?) { self.bytesPerSecond = bytesPerSecond }

  /// Counts received bytes, and returns the seconds until the rate permits them; 0 if it does.
  mutating func spend(_ count: Int) -> Double {
    guard let bytesPerSecond else { return 0 }
    let now = Uptime.now.seconds
    // After a pause, the bytes of a quarter of a second may be received at once.
    due = max(due, now - 0.25) + Double(count) / Double(max(1, bytesPerSecond))
    return max(0, due - now)
  }
}

extension Origin {
  /// Counts received bytes, and pauses as long as the rate requires, unless the task is cancelled.
  func keepPace(after count: Int, while isWanted: () -> Bool = { true }) async {
    var debt = withMemory { $0.pace.spend(count) }
    while debt > 0, !Task.isCancelled, isWanted() {
      // Another rate is noticed within this time.
      let pause = min(debt, 0.25)
      try? await Task.sleep(for: .seconds(pause))
      // What others spend meanwhile is theirs to wait for.
      debt = min(debt - pause, withMemory { $0.pace.spend(0) })
    }
  }
}
