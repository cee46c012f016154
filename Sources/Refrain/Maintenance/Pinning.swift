// SPDX-License-Identifier: MIT

/// Pins entries, which are then never evicted.
package struct Pinning: Sendable {
  let inspector: CacheInspector
  private var budget: DiskBudget { inspector.budget }

  package enum Outcome: Sendable {
    /// Nothing is stored under the key.
    case notStored
    case wasPinned
    case pinned
  }

  /// Pins an entry.
  package func pin(_ key: CacheKey) async throws -> Outcome {
    await budget.knowPinned()
    // Held: its storage knows whether this process has the entry's lock.
    let open = await inspector.table.heldEntry(for: key)
    defer { open?.release() }
    await open?.recordNow()
    let work = Task(executorPreference: IOThreads.background) { () throws -> Outcome in
      guard let entry = inspector.entry(for: key) else { return .notStored }
      // Never refused: lowering the limit lifts no pin.
      if entry.isPinned { return .wasPinned }
      let name = KeyHash.name(of: key)
      let bytes = EntryDirectory.pinnedBytes(
        allocated: entry.allocatedBytes, length: entry.length)
      guard budget.claimPinned(bytes, for: name) else {
        throw refusal(key.rawValue, bytes, budget.pinnedBytes(except: [name]))
      }
      defer { budget.notePinned(name) }
      do {
        let isStored: Bool
        if let open {
          isStored = try await open.storage.pin()
        } else {
          isStored = try budget.entryDirectory(named: name).pin()
        }
        return isStored ? .pinned : .notStored
      } catch {
        throw Self.failure(key, error)
      }
    }
    return try await work.value
  }

  /// Refuses a resource or a group that cannot be pinned, before any of it is stored.
  ///
  /// - Parameters:
  ///   - name: of the resource or the group, for the error.
  ///   - keys: of its entries, which may be pinned already.
  ///   - lengths: the sum of their lengths.
  ///   - isEstimate: whether that is an estimate.
  package func checkRoom(
    for name: String, _ keys: [CacheKey], lengths: Int64, isEstimate: Bool = false
  ) async throws(MediaCacheError) {
    guard let room = budget.pinnableBytes else { return }
    await budget.knowPinned()
    let names = Set(keys.map { KeyHash.name(of: $0) })
    let others = budget.pinnedBytes(except: names)
    let beside = Int64(names.count) * EntryDirectory.pinnedBytes(allocated: 0, length: 0)
    let bytes = min(lengths, .max - beside) + beside
    if bytes > room - others { throw refusal(name, bytes, others, isEstimate: isEstimate) }
  }

  /// Removes the pin of an entry.
  ///
  /// - Returns: false if it was not pinned.
  func unpin(_ key: CacheKey) async throws -> Bool {
    return try await IOThreads.background.run { () throws(MediaCacheError) in
      let name = KeyHash.name(of: key)
      defer { budget.notePinned(name) }
      do throws(DiskError) {
        return try budget.entryDirectory(named: name).unpin()
      } catch {
        throw Self.failure(key, error)
      }
    }
  }

  private func refusal(
    _ name: String, _ bytes: Int64, _ others: Int64, isEstimate: Bool = false
  ) -> MediaCacheError {
    let limit = budget.limit.map(DiskBudget.text) ?? "unlimited"
    var error = MediaCacheError(
      .storage,
      "\(name) cannot be pinned: it takes \(isEstimate ? "about " : "")\(DiskBudget.text(bytes)), and "
        + "other pinned entries take \(DiskBudget.text(others)) of the limit of \(limit).",
      remedy: "Raise the limit, or unpin or remove other entries.")
    error.hasNoRoom = true
    return error
  }

  private static func failure(_ key: CacheKey, _ error: any Error) -> MediaCacheError {
    MediaCacheError(
      .storage, "The pin of \(key) could not be changed: \(error).",
      remedy: "Check the disk and the permissions of the cache directory.")
  }
}
