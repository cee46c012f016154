// SPDX-License-Identifier: MIT
public import Foundation

/// For URLs that need neither headers nor an explicit key.
extension MediaCache {
  /// Returns a reader of the resource at this URL; see `open(_:fill:)`.
  public func open(_ url: URL, fill: FillPolicy? = nil) async throws -> MediaReader {
    try await open(Resource(url: url), fill: fill)
  }

  /// Prefetches the resource at this URL; see `prefetch(_:range:progress:)`.
  @discardableResult
  public func prefetch(
    _ url: URL, range: ByteRange? = nil,
    progress: (@Sendable (PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation {
    try await prefetch(Resource(url: url), range: range, progress: progress)
  }
}
