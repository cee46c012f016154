// SPDX-License-Identifier: MIT

/// Bytes per second, smoothed over the last seconds. A pure value.
struct Speed {
  /// The smoothing time: most of a change shows after this long.
  var memory: Duration = .seconds(3)

  private var lastTime: Duration?
  private var lastBytes: Int64 = 0
  private(set) var bytesPerSecond: Double?

  /// Records the byte count at a time; times must not decrease.
  mutating func note(bytes: Int64, at time: Duration) {
    guard let earlier = lastTime else {
      lastTime = time
      lastBytes = bytes
      return
    }
    let elapsed = (time - earlier) / .seconds(1)
    guard elapsed >= 0.05 else { return }
    let now = Double(bytes - lastBytes) / elapsed
    let weight = min(1, elapsed / (memory / .seconds(1)))
    bytesPerSecond = bytesPerSecond.map { $0 + (now - $0) * weight } ?? now
    lastTime = time
    lastBytes = bytes
  }

  /// Returns the time that this many bytes will take; nil while it cannot be estimated.
  func timeLeft(for bytes: Int64) -> Duration? {
    guard let bytesPerSecond, bytesPerSecond >= 1, bytes >= 0 else { return nil }
    let seconds = Double(bytes) / bytesPerSecond
    return seconds < 360_000 ? .seconds(seconds.rounded(.up)) : nil
  }
}
