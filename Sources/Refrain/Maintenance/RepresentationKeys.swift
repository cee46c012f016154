// SPDX-License-Identifier: MIT
import RefrainLocks

/// Finds the stored representations of resources beside the first ones: those for other request
/// headers, and those for credentials. Nothing under a resource's own key names them.
///
/// Remembers which entries are representations. A search lists the directory, and reads only the
/// records of entries that were stored since the last search, by this process or another one. After
/// an hour without a search, what is remembered is forgotten: 16 bytes for each entry, and the room
/// of their table.
///
/// An entry's name is the hash of its key, so what is remembered of a name never becomes wrong.
/// Forgetting it at any time only has records read again.
final class RepresentationKeys: Sendable {
  /// The entries of one shard that were read, by the numbers that name them.
  private struct Shard {
    /// Those stored under the key of their resource: nearly all.
    var plain: Set<UInt128> = []
    var others: [UInt128: CacheKey] = [:]
  }

  private struct State {
    var shards: [String: Shard] = [:]
    /// Forgets them later.
    var release: Task<Void, Never>?
  }

  private let state = Mutex(State())
  private let patience: Duration

  /// - Parameter patience: how long after the last search everything is forgotten.
  init(patience: Duration = .seconds(3600)) { self.patience = patience }

  deinit { state.withLock(\.release)?.cancel() }

  /// The number of entries that are remembered.
  var count: Int {
    state.withLock { $0.shards.values.reduce(0) { $0 + $1.plain.count + $1.others.count } }
  }

  /// Forgets everything. Searches that run go on.
  func forget() { state.withLock { $0.shards = [:] } }

  /// Returns the keys of stored representations of resources with these keys, without these.
  ///
  /// - Throws: `DiskError`; `CancellationError`.
  func representations(
    of keys: Set<CacheKey>, in budget: DiskBudget
  ) async throws -> Set<CacheKey> {
    defer { forgetLater() }
    let found = try await Sweep(budget: budget).run { [self] names, _ in
      try look(at: names, in: budget).filter { Selection.isRepresentation($0, ofAny: keys) }
    }
    return Set(found.flatMap(\.self))
  }

  private func forgetLater() {
    let release = Task { [weak self, patience] in
      do { try await Task.sleep(for: patience) } catch { return }
      self?.forget()
    }
    let last = state.withLock { state in
      defer { state.release = release }
      return state.release
    }
    last?.cancel()
  }

  /// Returns the keys of all representations in a shard. Blocks.
  private func look(at names: [String], in budget: DiskBudget) throws -> [CacheKey] {
    guard let first = names.first else { return [] }
    let shard = KeyHash.shard(of: first)
    let known = state.withLock { $0.shards[shard] } ?? Shard()
    // Entries that are gone are forgotten.
    var next = Shard()
    for name in names {
      guard let number = UInt128(name, radix: 16) else { continue }
      if known.plain.contains(number) {
        next.plain.insert(number)
      } else if let key = known.others[number] {
        next.others[number] = key
      } else {
        try Task.checkCancellation()
        // Nothing of an unreadable entry is used. It may become readable: the next search tries again.
        guard let (record, _) = try? budget.entryDirectory(named: name).loadRecord() else {
          continue
        }
        let key = CacheKey(rawValue: record.key)
        if Selection.resourceKey(of: key) == nil {
          next.plain.insert(number)
        } else {
          next.others[number] = key
        }
      }
    }
    state.withLock { [next] in $0.shards[shard] = next }
    return Array(next.others.values)
  }
}
