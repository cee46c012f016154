// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Pinned entries are never evicted, neither as a whole nor in part. Their bytes count towards
/// `limit`. Every cache of the directory respects a pin, which stays when the origin sends a new
/// version, and ends with `unpin`, or when the entry is removed.
///
/// Documents (`DocumentRules`), and resources that their group keeps
/// (`ResourcePolicy.Group.isKept`), are stored even if the origin forbids it (`no-store`), so that
/// what they name plays offline, and revalidated before each use while online. A cache for several
/// people (`Configuration.isShared`) obeys the origin.
extension MediaCache {
  /// Pins a resource before or after the rest of it is fetched, in the representation that its
  /// headers select; of a group, the first resource alone. If nothing is stored of it, its first
  /// bytes are fetched.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the whole resource does not fit into `limit` beside
  ///   the other pinned entries, or may not be stored; the errors of `prefetch`.
  public func pin(_ resource: Resource) async throws {
    if try await pin(storedKey(for: resource)) { return }
    var resource = completed(resource)
    let reader = try await open(resource, on: ReadTerms(), fill: .onDemand, isBackground: true)
    defer { reader.cancel() }
    _ = try await reader.contentInformation()
    if reader.generation.withState(\.representation.isDocument) {
      resource.policy.group = ResourcePolicy.Group(first: key(for: resource), isKept: true)
    }
    try await prefetch(resource, range: 0..<1)
    // Perhaps under another key than before.
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
  public func pin(_ key: CacheKey) async throws -> Bool { try await pinStored(key) != nil }

  /// Removes the pin of the representation that the resource selects; see `unpin(_:)`. Of a group,
  /// this unpins the first resource alone.
  @discardableResult
  public func unpin(_ resource: Resource) async throws -> Bool {
    try await unpin(storedKey(for: resource))
  }

  /// Removes the pin of an entry, which can then be evicted. Its bytes stay until then, unless the
  /// origin forbids storing them. Other entries stay pinned, also those of the same group.
  ///
  /// - Returns: false if it was not pinned.
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be written: another call then
  ///   does what is left.
  @discardableResult
  public func unpin(_ key: CacheKey) async throws -> Bool {
    let name = KeyHash.name(of: key)
    let (wasPinned, record) = try await IOThreads.background.run {
      let wasPinned = try changePin(of: key) { try $0.unpin() }
      return (wasPinned, budget.entryDirectory(named: name).writtenRecord)
    }
    // Even without a pin: an earlier call may have failed after it lifted the pin.
    if !isShared, record?.freshness.noStore == true {
      await table.settledEntry(for: key)?.current?.withState { $0.obeyNoStore() }
      let removed = try await stored.remove([name], at: now.wall)
      // Another process that writes to the entry removes it when it closes it.
      if let failure = removed.failures.first(where: { $0.code != .inUse }) { throw failure }
    }
    return wasPinned
  }

  /// Returns whether the entry was not pinned before; nil if nothing is stored under the key.
  package func pinStored(_ key: CacheKey) async throws -> Bool? {
    await budget.rescan()
    // Held, so that it is not removed when it is closed, as not worth keeping without a pin.
    let open = await table.heldEntry(for: key)
    defer { open?.release() }
    return try await withTaskExecutorPreference(IOThreads.background) {
      guard let entry = stored.entry(for: key) else { return nil }
      // Never refused: lowering the limit lifts no pin.
      if entry.isPinned { return false }
      let name = KeyHash.name(of: key)
      let bytes = EntryDirectory.pinnedBytes(allocated: entry.allocatedBytes, length: entry.length)
      let (fits, others) = budget.index.withLock { [room = budget.pinnableBytes ?? .max] index in
        (index.claim(bytes, for: name, within: room), index.pinnedBytes(except: [name]))
      }
      guard fits else { throw refusal(key.rawValue, DiskBudget.text(bytes), others) }
      return try changePin(of: key) { try $0.pin() } ? true : nil
    }
  }

  private func changePin(of key: CacheKey, _ body: (EntryDirectory) throws -> Bool) throws -> Bool {
    let name = KeyHash.name(of: key)
    defer {
      budget.index.withLock { $0.claims[name] = nil }
      _ = try? budget.remeasure(name)
    }
    do { return try body(budget.entryDirectory(named: name)) } catch {
      throw MediaCacheError(
        .storage, "The pin of \(key) could not be changed: \(error).",
        remedy: "Check the disk and the permissions of the cache directory.")
    }
  }

  /// Refuses what cannot be pinned before any of it is stored. Some of its `keys` may be pinned
  /// already; `lengths` may be an estimate.
  package func checkRoomToPin(
    _ name: String, _ keys: [CacheKey], lengths: Int64
  ) async throws(MediaCacheError) {
    guard let room = budget.pinnableBytes else { return }
    await budget.rescan()
    let names = Set(keys.map { KeyHash.name(of: $0) })
    let beside = Int64(names.count) * EntryDirectory.pinnedBytes(allocated: 0, length: 0)
    let bytes = min(lengths, .max - beside) + beside
    let others = budget.index.withLock { $0.pinnedBytes(except: names) }
    if bytes > room - others { throw refusal(name, "about \(DiskBudget.text(bytes))", others) }
  }

  private func refusal(_ name: String, _ size: String, _ others: Int64) -> MediaCacheError {
    let limit = budget.limit.map(DiskBudget.text) ?? "unlimited"
    var error = MediaCacheError(
      .storage,
      "\(name) cannot be pinned: it takes \(size), and other pinned entries take "
        + "\(DiskBudget.text(others)) of the limit of \(limit).",
      remedy: "Raise the limit, or unpin or remove other entries.")
    error.hasNoRoom = true
    return error
  }
}
