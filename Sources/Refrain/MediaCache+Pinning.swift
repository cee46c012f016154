// SPDX-License-Identifier: MIT
import Foundation

/// Pinned entries are never evicted, neither as a whole nor in part.
///
/// Their bytes count towards `limit`. The pin belongs to the entry in the directory: every cache
/// there respects it, it stays when the origin sends a new version, and it ends with `unpin`, or
/// when the entry is removed.
extension MediaCache {
  /// Pins a resource before or after the rest of it is fetched, in the representation that its
  /// headers select. If nothing is stored of it, its first bytes are fetched.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the whole resource does not fit into `limit` beside
  ///   the other pinned entries, or may not be stored; the errors of `prefetch`.
  public func pin(_ resource: Resource) async throws {
    if try await pin(storedKey(for: resource)) { return }
    let pinning = Pinning(context: context)
    let reader = try await open(
      resource, on: FreshnessRequirements(), fill: .onDemand, isBackground: true)
    defer { reader.cancel() }
    let length = try await reader.contentInformation().length
    // Nothing is evicted for a resource that cannot be pinned.
    try pinning.checkRoom(for: key(for: resource), length: length)
    try await prefetch(resource, range: 0..<1)
    // The credentials or the response may select another key than before.
    guard try await pin(storedKey(for: resource)) else {
      throw MediaCacheError(
        .storage,
        "\(resource.url.withoutUserInfo.absoluteString) was not stored, so it cannot be pinned.",
        remedy: "Try again.")
    }
  }

  /// Pins an entry, even one in use here or in another process.
  ///
  /// - Returns: false if nothing is stored under the key.
  /// - Throws: `MediaCacheError`, `.storage` if the whole resource does not fit into `limit` beside
  ///   the other pinned entries, or the directory cannot be written.
  @discardableResult
  public func pin(_ key: CacheKey) async throws -> Bool {
    try await Pinning(context: context).pin(key)
  }

  /// Removes the pin of the representation that the resource selects; see `unpin(_:)`.
  @discardableResult
  public func unpin(_ resource: Resource) async throws -> Bool {
    try await unpin(storedKey(for: resource))
  }

  /// Removes the pin of an entry, which can then be evicted. Its bytes stay until then.
  ///
  /// - Returns: false if it was not pinned.
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be written.
  @discardableResult
  public func unpin(_ key: CacheKey) async throws -> Bool {
    try await Pinning(context: context).unpin(key)
  }
}
