// SPDX-License-Identifier: MIT

/// How much of a resource is stored at one moment.
public struct CacheProgress: Sendable, Hashable {
  /// The length in bytes; nil while unknown.
  public var length: Int64?
  /// The stored ranges.
  public var spans: RangeSet<Int64>

  public init(length: Int64?, spans: RangeSet<Int64>) {
    self.length = length
    self.spans = spans
  }

  /// The number of stored bytes.
  public var storedBytes: Int64 { spans.byteCount }

  public var isComplete: Bool {
    guard let length else { return false }
    return length == 0 || spans.range(containing: 0)?.upperBound ?? 0 >= length
  }

  /// The stored fraction, from 0 (nothing) to 1 (all); nil while the length is unknown.
  public var fraction: Double? {
    guard let length else { return nil }
    return length == 0 ? 1 : Double(storedBytes) / Double(length)
  }
}
