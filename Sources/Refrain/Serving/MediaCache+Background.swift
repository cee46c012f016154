// SPDX-License-Identifier: MIT

/// Looking at parts of resources that nobody plays.
extension MediaCache {
  /// Returns a reader of one range, which requests its missing bytes and no others, and gives way to
  /// readers that play. Stale bytes are used as they are, unless the origin forbids that. If the
  /// origin responds with an error before the resource is known, it is not asked again.
  ///
  /// - Throws: `MediaCacheError`, `CancellationError`, as `open` does.
  package func openInBackground(
    _ resource: Resource, range: ByteRange
  ) async throws -> MediaReader {
    var terms = FreshnessRequirements()
    terms.maxStale = .max
    terms.reportsErrors = true
    let reader = try await open(resource, on: terms, fill: .onDemand, isBackground: true)
    reader.setRange(range)
    return reader
  }
}
