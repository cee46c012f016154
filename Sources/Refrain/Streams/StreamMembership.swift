// SPDX-License-Identifier: MIT

/// The stream to which a resource belongs, and what it is in it.
package struct StreamMembership: Sendable, Hashable {
  /// The key of the stream's first manifest, under which the whole stream is listed and removed.
  package var stream: CacheKey
  /// Whether the resource is a key that decrypts segments: a shared cache does not store it. As
  /// with every entry, only the cache's owner can read its files (mode 0600, in directories of mode
  /// 0700).
  package var isKey: Bool
  /// Whether the user asked to keep the resource, so that it is stored even if the origin forbids
  /// it (`no-store`).
  package var isKept: Bool

  package init(stream: CacheKey, isKey: Bool = false, isKept: Bool = false) {
    (self.stream, self.isKey, self.isKept) = (stream, isKey, isKept)
  }
}
