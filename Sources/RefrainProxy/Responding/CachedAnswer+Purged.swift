// SPDX-License-Identifier: MIT
import Refrain

/// Serves responses that were purged softly, while the origin is asked about them.
extension CachedAnswer {
  /// Whether a stale response may be served because it was purged a moment ago.
  ///
  /// - Parameter key: that of the response.
  func mayServePurged(
    _ resource: Resource, _ key: CacheKey, _ terms: FreshnessRequirements
  ) -> Bool {
    // Responses under other keys are for few people, who wait.
    guard !terms.noCache, !terms.isOnlyStored, !terms.hasCookies,
      key == service.cache.key(for: resource)
    else { return false }
    return service.softPurges.mayServe(key) { [cache = service.cache] in
      // If the origin cannot be asked, the next request tries it again.
      try? await Self.confirm(resource, key, in: cache)
    }
  }

  /// Has the origin confirm or replace the stored response.
  private static func confirm(
    _ resource: Resource, _ key: CacheKey, in cache: MediaCache
  ) async throws {
    var terms = FreshnessRequirements()
    terms.isStrict = true
    let reader = try await cache.open(resource, on: terms, fill: .onDemand, key: key)
    defer { reader.cancel() }
    try await withTaskCancellationHandler {
      _ = try await reader.settle()
    } onCancel: {
      reader.cancel()
    }
  }
}
