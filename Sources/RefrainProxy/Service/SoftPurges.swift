// SPDX-License-Identifier: MIT
import NIOCore
import Refrain
import RefrainLocks

/// The resources that were purged softly a moment ago. A stored response is served meanwhile, and
/// the first request for it has the origin asked: no client waits for that.
final class SoftPurges: Sendable {
  private struct Purged {
    var until: NIODeadline
    var confirmation: Task<Void, Never>?
  }

  private struct State {
    var resources: [CacheKey: Purged] = [:]
    var isOver = false
  }

  /// The longest time for which purged responses are served: the one who purges expects others soon.
  private static let grace = TimeAmount.seconds(60)
  private static let capacity = 1 << 16

  private let state = Mutex(State())
  /// Spares the lock while nothing was purged.
  private let isAny = Atomic(false)

  /// Notes resources whose stored responses have just been made stale.
  func insert(_ keys: Set<CacheKey>, at now: NIODeadline = .now()) {
    guard !keys.isEmpty else { return }
    state.withLock { state in
      if state.resources.count + keys.count > Self.capacity {
        state.resources = state.resources.filter { $0.value.until > now }
      }
      // The others are confirmed before they are served.
      for key in keys.prefix(Self.capacity - min(Self.capacity, state.resources.count)) {
        // One under way may have asked before the resource changed.
        state.resources[key]?.confirmation?.cancel()
        state.resources[key] = Purged(until: now + Self.grace)
      }
    }
    isAny.store(true, ordering: .releasing)
  }

  /// Has a stored response confirmed before it is served again.
  func remove(_ key: CacheKey) {
    guard isAny.load(ordering: .acquiring) else { return }
    state.withLock { $0.resources[key] = nil }
  }

  /// Returns whether a purged response may be served, and begins to ask the origin unless that is
  /// under way.
  ///
  /// - Parameter confirm: asks the origin; the response may not be served any more once it returns.
  func mayServe(
    _ key: CacheKey, at now: NIODeadline = .now(),
    confirm: @Sendable @escaping () async -> Void
  ) -> Bool {
    guard isAny.load(ordering: .acquiring) else { return false }
    return state.withLock { state in
      guard let purged = state.resources[key], purged.until > now, !state.isOver else {
        state.resources[key] = nil
        return false
      }
      guard purged.confirmation == nil else { return true }
      state.resources[key]?.confirmation = Task {
        await confirm()
        // A further purge has cancelled this task, and replaced what it would remove.
        if !Task.isCancelled { self.remove(key) }
      }
      return true
    }
  }

  func stop() async {
    let tasks = state.withLock { state in
      state.isOver = true
      return state.resources.values.compactMap(\.confirmation)
    }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }
}
