// SPDX-License-Identifier: MIT
import Synchronization

/// Bounds how many entries are open at a time in this process, so that descriptors are left
/// (`DescriptorBudget`). Whoever opens one too many waits until another is closed, the first who came first.
final class EntrySlots: Sendable {
  /// Of this process, whose limit it is.
  static let ofProcess = EntrySlots { DescriptorBudget.forEntries }

  private struct State {
    var taken = 0
    var waiters: [(id: UInt64, wake: CheckedContinuation<Bool, Never>)] = []
    var nextID: UInt64 = 0
  }

  private let state = Mutex(State())
  /// Asked for each time, for the limit can be changed from outside (prlimit(1)).
  private let capacity: @Sendable () -> Int
  private let patience: Duration

  /// - Parameter patience: how long a slot is waited for.
  init(patience: Duration = .seconds(30), capacity: @Sendable @escaping () -> Int) {
    self.capacity = capacity
    self.patience = patience
  }

  /// How many are taken.
  var taken: Int { state.withLock { $0.taken } }

  /// How many wait for one.
  var waiting: Int { state.withLock { $0.waiters.count } }

  /// Takes a slot, which is given back when what is returned goes.
  ///
  /// - Parameter relieve: called, again and again, while none is free: what is held open for speed
  ///   alone is to be closed.
  /// - Throws: `CancellationError`; `MediaCacheError` where none came free for so long that none will.
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
        "Too many resources are open at once: the limit of open files leaves room for "
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
        // From here on it can be found by whoever gives up.
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

  /// The entry's files are closed. Once is enough.
  func giveBack() {
    if !isOver.exchange(true, ordering: .acquiringAndReleasing) { slots.giveBack() }
  }
}
