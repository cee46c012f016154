// SPDX-License-Identifier: MIT
public import Foundation

/// For URLs that need neither headers nor a key of their own.
extension MediaCache {
  /// As `open(_:fill:)` of a resource.
  public func open(_ url: URL, fill: FillPolicy? = nil) async throws -> MediaReader {
    try await open(Resource(url: url), fill: fill)
  }

  /// As `prefetch(_:range:progress:)` of a resource.
  @discardableResult
  public func prefetch(
    _ url: URL, range: ByteRange? = nil,
    progress: (@Sendable (PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation {
    try await prefetch(Resource(url: url), range: range, progress: progress)
  }
}
