// SPDX-License-Identifier: MIT

/// Writes the Range header (RFC 9110 §14.2).
enum RangeHeader {
  /// Returns `bytes=a-b`, with HTTP's inclusive last byte; `bytes=a-` if the end is unknown.
  ///
  /// - Parameters:
  ///   - from: the first byte; negative values count as zero.
  ///   - to: the byte after the last; it must lie beyond `from`. Nil requests everything that
  ///     follows.
  static func value(_ from: Int64, to: Int64?) -> String {
    let from = max(from, 0)
    guard let to else { return "bytes=\(from)-" }
    assert(to > from, "an empty range cannot be requested")
    return "bytes=\(from)-\(max(from, to > .min ? to - 1 : to))"
  }
}
