// SPDX-License-Identifier: MIT

/// Measures how fast an origin sends: bytes over the time spent waiting for them.
struct RateMeter: Sendable {
  private var waited: Duration = .zero
  private var bytes = 0
  private var began: ContinuousClock.Instant?

  mutating func begin() { began = .now }

  mutating func end(received count: Int) {
    if let began { waited += ContinuousClock.now - began }
    began = nil
    bytes += count
  }

  /// Whether enough was received for a measurement.
  var isFull: Bool { bytes >= 1 << 20 }

  /// Nil if too little was received, or all of it had arrived before the wait.
  var bytesPerSecond: Double? {
    guard bytes >= 16 << 10, waited >= .milliseconds(5) else { return nil }
    return Double(bytes) / waited.seconds
  }
}
