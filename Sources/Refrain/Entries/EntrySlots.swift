// SPDX-License-Identifier: MIT
import RefrainLocks

/// Bounds the number of entries open at a time in this process, so that descriptors are left
/// (`DescriptorBudget`). Further callers wait in order until an entry is closed.
final class EntrySlots: Sendable {
  /// The slots of this process, to which the descriptor limit applies.
  static let ofProcess = EntrySlots { DescriptorBudget.forEntries }

  private struct State {
    var taken = 0
    var waiters: [(id: UInt64, wake: CheckedContinuation<Bool, Never>)] = []
    var nextID: UInt64 = 0
  }

  private let state = Mutex(State())
  /// Called each time, because the limit can be changed from outside (prlimit(1)).
  private let capacity: @Sendable () -> Int
  private let patience: Duration

  /// - Parameter patience: the longest wait for a slot.
  init(patience: Duration = .seconds(30), capacity: @Sendable @escaping () -> Int) {
    self.capacity = capacity
    self.patience = patience
  }

  /// The number of slots taken.
  var taken: Int { state.withLock { $0.taken } }

  /// The number of callers waiting for a slot.
  var waiting: Int { state.withLock { $0.waiters.count } }

  /// Takes a slot, which is returned when the `EntrySlot` is deallocated.
  ///
  /// - Parameter relieve: called repeatedly while no slot is free, to close entries that are held
  ///   open only for speed.
  /// - Throws: `CancellationError`; `MediaCacheError` if no slot becomes free within `patience`.
  func take(relieving relieve: @Sendable @escaping () -> Void) async throws -> EntrySlot {
    let limit = capacity()
    let isTaken = state.withLock { state in
      guard state.taken < limit, state.waiters.isEmpty else { return false }
      state.taken += 1
      return true
    }
    if isTaken { return EntrySlot(self) }
    guard await wait(relieving: relieve) else {
      try Task.checkCancellation()
      throw MediaCacheError(
        .storage,
        "Too many resources are open at once: the limit of open files allows only "
          + "\(limit).", remedy: "Close readers, or raise the limit (ulimit -n).")
    }
    return EntrySlot(self)
  }

  private func wait(relieving relieve: @Sendable @escaping () -> Void) async -> Bool {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    var reliever: Task<Void, Never>?
    defer { reliever?.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.withLock { $0.waiters.append((id, continuation)) }
        wakeNext()
        // From here on `giveUp` can find this waiter.
        reliever = Task { await self.relieveAndGiveUp(id, relieve) }
        if Task.isCancelled { giveUp(id) }
      }
    } onCancel: {
      giveUp(id)
    }
  }

  private func relieveAndGiveUp(_ id: UInt64, _ relieve: @Sendable () -> Void) async {
    let end = ContinuousClock.now + patience
    while ContinuousClock.now < end {
      relieve()
      do { try await Task.sleep(for: min(patience, .milliseconds(50))) } catch { return }
    }
    giveUp(id)
  }

  private func giveUp(_ id: UInt64) {
    let waiter = state.withLock { state in
      state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
    }
    waiter?.wake.resume(returning: false)
  }

  fileprivate func giveBack() {
    state.withLock { $0.taken -= 1 }
    wakeNext()
  }

  private func wakeNext() {
    let limit = capacity()
    let woken = state.withLock { state in
      let count = min(max(0, limit - state.taken), state.waiters.count)
      state.taken += count
      defer { state.waiters.removeFirst(count) }
      return Array(state.waiters.prefix(count))
    }
    for waiter in woken { waiter.wake.resume(returning: true) }
  }
}

/// The right to have one entry open.
final class EntrySlot: Sendable {
  private let slots: EntrySlots
  private let isOver = Atomic(false)

  fileprivate init(_ slots: EntrySlots) { self.slots = slots }

  deinit { giveBack() }

  /// Returns the slot once the entry's files are closed. Further calls do nothing.
  func giveBack() {
    if !isOver.exchange(true, ordering: .acquiringAndReleasing) { slots.giveBack() }
  }
}
