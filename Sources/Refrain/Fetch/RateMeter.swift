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

  /// Enough has come to tell.
  var isFull: Bool { bytes >= 1 << 20 }

  /// Nil where too little came to tell, or all of it was there before it was waited for.
  var bytesPerSecond: Double? {
    guard bytes >= 16 << 10, waited >= .milliseconds(5) else { return nil }
    return Double(bytes) / waited.seconds
  }
}
