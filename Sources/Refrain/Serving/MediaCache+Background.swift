// SPDX-License-Identifier: MIT

/// Looking at parts of resources beside a player, or before there is one.
extension MediaCache {
  /// Returns a reader of one range, which requests its missing bytes and no others, and gives way to
  /// readers that play. Stale bytes are used as they are, unless the origin forbids that. If the
  /// origin responds with an error before the resource is known, it is not asked again.
  ///
  /// - Parameter isPlaying: whether a player reads the resource: its reader has asked the origin
  ///   whether stored bytes may be used, and this one does not ask again.
  /// - Throws: `MediaCacheError`, `CancellationError`, as `open` does.
  package func openInBackground(
    _ resource: Resource, range: ByteRange, isPlaying: Bool = false
  ) async throws -> MediaReader {
    var terms = FreshnessRequirements()
    terms.maxStale = .max
    terms.reportsErrors = true
    terms.isJustConfirmed = isPlaying
    let reader = try await open(resource, on: terms, fill: .onDemand, isBackground: true)
    reader.setRange(range)
    return reader
  }
}
