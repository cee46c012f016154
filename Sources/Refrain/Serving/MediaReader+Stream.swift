// SPDX-License-Identifier: MIT

extension MediaReader {
  /// The key of the first manifest of the stream to which the resource is known to belong; nil if
  /// none is.
  package var stream: CacheKey? { entry.stream.map { CacheKey(rawValue: $0) } }
}
