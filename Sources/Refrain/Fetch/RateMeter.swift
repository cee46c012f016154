// SPDX-License-Identifier: MIT

/// How fast an origin sends: bytes over the time that they were waited for.
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

  /// Nil where too little came to tell.
  var bytesPerSecond: Double? {
    guard bytes >= 16 << 10 else { return nil }
    let (seconds, attoseconds) = waited.components
    return Double(bytes) / max(Double(seconds) + Double(attoseconds) / 1e18, 1e-6)
  }
}
