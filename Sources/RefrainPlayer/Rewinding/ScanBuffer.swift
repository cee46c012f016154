// SPDX-License-Identifier: MIT

/// The bytes of a stream that a scanner has not examined yet. A pure value.
struct ScanBuffer: Sendable {
  private(set) var bytes: [UInt8] = []
  /// The offset of the first of `bytes` in the stream.
  private(set) var start: Int64 = 0
  /// The bytes still to arrive that are not examined.
  private var skipped = 0

  mutating func append(_ new: UnsafeRawBufferPointer) {
    let left = min(skipped, new.count)
    skipped -= left
    start += Int64(left)
    if left < new.count { bytes.append(contentsOf: new[left...]) }
  }

  /// Drops the first bytes, also ones that have yet to arrive.
  mutating func drop(_ count: Int) {
    let dropped = min(count, bytes.count)
    bytes.removeFirst(dropped)
    start += Int64(dropped)
    skipped += count - dropped
  }

  /// Drops all bytes, and expects no more of what they began: other ones follow.
  mutating func breakOff() {
    start += Int64(bytes.count)
    (bytes, skipped) = ([], 0)
  }

  /// Returns the number of `count` bytes at an index, the least significant first.
  static func number(_ bytes: [UInt8], at index: Int, count: Int) -> Int64 {
    (0..<count).reduce(0) { $0 | Int64(truncatingIfNeeded: bytes[index + $1]) << (8 * Int64($1)) }
  }
}

/// Counts samples as time, without a growing error. A pure value.
struct SampleClock: Sendable {
  private var before = Duration.zero
  /// Less than a second.
  private var samples: Int64 = 0
  private var rate: Int64 = 1

  /// The longest step, in seconds: a longer one is a jump of the stream's own times, or not true.
  private static let longestStep: Int64 = 120

  var time: Duration { before + .nanoseconds(samples * 1_000_000_000 / rate) }

  /// Advances by `count` samples of `rate` per second, unless that is a jump.
  mutating func advance(by count: Int64, at rate: Int64) {
    guard rate > 0, count > 0, count / rate < Self.longestStep else { return }
    if rate != self.rate {
      before = time
      (samples, self.rate) = (0, rate)
    }
    let (whole, rest) = (samples + count).quotientAndRemainder(dividingBy: rate)
    before += .seconds(whole)
    samples = rest
  }
}
