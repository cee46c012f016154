// SPDX-License-Identifier: MIT

/// Divides among exchanges the bytes that a killed process may lose: those that were passed on but
/// are not stored yet. As many again may be buffered behind them, and twice as many where there are one
/// or two exchanges: a single one has at most 240 KiB that are not stored.
struct BufferPool {
  /// In bytes. Together with the 64 KiB that precede an entry's first record, four exchanges that
  /// start at the worst moments stay below 256 KiB.
  private static let size = 144 << 10
  /// libcurl passes on at most this many bytes at once (`CURL_MAX_WRITE_SIZE`), and an exchange
  /// must be able to take them.
  private static let smallestPart = 16 << 10
  private static let largestPart = 80 << 10

  private(set) var exchanges = 0
  /// The sum of all parts.
  private(set) var held = 0

  mutating func exchangeBegan() { exchanges += 1 }

  mutating func exchangeEnded(holding part: Int) {
    exchanges -= 1
    held -= part
  }

  /// Returns how many bytes an exchange may buffer next, and its new part of the pool.
  ///
  /// - Parameters:
  ///   - part: its part so far.
  ///   - unstored: the most of its bytes that are passed on, and not stored yet, before the next ones
  ///     are.
  ///   - most: the most bytes it has use for.
  mutating func renew(
    _ part: Int, unstored: Int, atMost most: Int = .max
  ) -> (limit: Int, part: Int) {
    held -= part
    let fair = Self.size / max(1, exchanges)
    let limit = max(
      Self.smallestPart, min(fair, Self.size - held, Self.largestPart, most))
    let renewed = max(limit, unstored)
    held += renewed
    return (limit, renewed)
  }

  /// Reduces the part of an exchange that buffers nothing to what may not be stored yet.
  mutating func reduce(_ part: Int, to unstored: Int) {
    held += unstored - part
  }
}
