// SPDX-License-Identifier: MIT
import RefrainLocks

/// The places for open entries: as many as leave descriptors to the rest of the process
/// (`DescriptorBudget`). Who finds none waits, first come, first served.
final class EntryRoom: Sendable {
  /// The places of this process, to which the limit of descriptors applies.
  static let ofProcess = EntryRoom()

  typealias Ticket = UInt64

  private struct Waiter: Sendable {
    var ticket: Ticket
    var since: ContinuousClock.Instant
    /// While it is suspended.
    var wake: CheckedContinuation<Void, Never>?
  }

  private struct State {
    var taken = 0
    /// The oldest first.
    var waiters: [Waiter] = []
    var lastTicket: Ticket = 0

    mutating func wake(_ index: Int?) -> CheckedContinuation<Void, Never>? {
      guard let index, waiters.indices.contains(index) else { return nil }
      return waiters[index].wake.take()
    }

    /// Removes a waiter, and wakes the next one, which may find a place.
    mutating func leave(_ ticket: Ticket?) -> [CheckedContinuation<Void, Never>] {
      guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return [] }
      return [waiters.remove(at: index).wake, wake(0)].compactMap(\.self)
    }
  }

  private let state = Mutex(State())
  /// Called each time, because the limit can be changed from outside (prlimit(1)).
  private let entries: @Sendable () -> Int
  private let patience: Duration

  /// - Parameter patience: the longest wait for an entry to close.
  init(
    entries: @escaping @Sendable () -> Int = { DescriptorBudget.forEntries },
    patience: Duration = .seconds(30)
  ) {
    (self.entries, self.patience) = (entries, patience)
  }

  /// The number of places: asks the system.
  var places: Int { entries() }

  /// The number of callers that wait.
  var waiting: Int { state.withLock(\.waiters.count) }

  /// Takes a place if one is free, and nobody has waited longer.
  ///
  /// - Parameters:
  ///   - ticket: nil for a caller that has not waited.
  ///   - most: the number of places, as of now (`places`).
  func take(_ ticket: Ticket?, of most: Int) -> Bool {
    let woken = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
      guard state.taken < most, state.waiters.first.map({ $0.ticket == ticket }) ?? true else {
        return nil
      }
      state.taken += 1
      return state.leave(ticket)
    }
    woken?.forEach { $0.resume() }
    return woken != nil
  }

  func giveBack() {
    let next = state.withLock { state in
      state.taken -= 1
      return state.wake(0)
    }
    next?.resume()
  }

  func queue() -> Ticket {
    state.withLock { state in
      state.lastTicket += 1
      state.waiters.append(Waiter(ticket: state.lastTicket, since: .now))
      return state.lastTicket
    }
  }

  /// Ends waiting. Nothing happens if it has ended.
  func leave(_ ticket: Ticket) { state.withLock { $0.leave(ticket) }.forEach { $0.resume() } }

  /// Waits until this one is next and a place may be free, but only a moment before the next look.
  ///
  /// - Parameter relieve: called by the one that is next: closes entries that are held open only for
  ///   speed.
  /// - Throws: `MediaCacheError` if no place has become free within `patience`; `CancellationError`.
  func wait(_ ticket: Ticket, relieving relieve: () -> Void) async throws {
    let (isNext, since) = state.withLock { state in
      (state.waiters.first?.ticket == ticket, state.waiters.first { $0.ticket == ticket }?.since)
    }
    if let since, ContinuousClock.now - since >= patience {
      throw MediaCacheError(
        .storage,
        "Too many resources are open at once: the limit of open files allows only \(entries()).",
        remedy: "Close readers, or raise the limit (ulimit -n).")
    }
    if isNext { relieve() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let most = entries()
        let goesOn = state.withLock { state in
          guard !Task.isCancelled,
            let index = state.waiters.firstIndex(where: { $0.ticket == ticket }),
            index > 0 || state.taken >= most
          else { return true }
          state.waiters[index].wake = continuation
          return false
        }
        if goesOn { return continuation.resume() }
        // Nothing cancels this task, so `sleep` cannot throw.
        Task {
          try? await Task.sleep(for: .milliseconds(isNext ? 10 : 50))
          wake(ticket)
        }
      }
    } onCancel: {
      wake(ticket)
    }
    try Task.checkCancellation()
  }

  private func wake(_ ticket: Ticket) {
    let waiter = state.withLock { state in
      state.wake(state.waiters.firstIndex { $0.ticket == ticket })
    }
    waiter?.resume()
  }
}
