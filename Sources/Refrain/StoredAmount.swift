// SPDX-License-Identifier: MIT

extension MediaCache {
  /// The stored bytes of a part.
  package struct StoredAmount: Sendable, Hashable {
    package var bytes: Int64 = 0
    /// Nil while the length of the resource is unknown.
    package var total: Int64?
    /// Of the entry that has the bytes; nil if nothing is stored.
    package var key: CacheKey?

    package init(bytes: Int64 = 0, total: Int64? = nil, key: CacheKey? = nil) {
      (self.bytes, self.total, self.key) = (bytes, total, key)
    }

    package var isComplete: Bool { bytes == total }

    /// 0…1.
    package var fraction: Double {
      guard let total, total > 0 else { return isComplete ? 1 : 0 }
      return Double(bytes) / Double(total)
    }
  }
}
