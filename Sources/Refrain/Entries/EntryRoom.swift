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
    /// What it waits for at most; cancelled to wake it.
    var pause: Task<Void, Never>?
  }

  private struct State {
    var taken = 0
    /// The oldest first.
    var waiters: [Waiter] = []
    var lastTicket: Ticket = 0

    /// Removes a waiter.
    ///
    /// - Returns: the pause of the next one, which may find a place.
    mutating func leave(_ ticket: Ticket?) -> Task<Void, Never>? {
      guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return nil }
      waiters.remove(at: index)
      return waiters.first?.pause
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
    let (isTaken, next) = state.withLock { state -> (Bool, Task<Void, Never>?) in
      guard state.taken < most, state.waiters.first.map({ $0.ticket == ticket }) ?? true else {
        return (false, nil)
      }
      state.taken += 1
      return (true, state.leave(ticket))
    }
    next?.cancel()
    return isTaken
  }

  func giveBack() {
    let next = state.withLock { state in
      state.taken -= 1
      return state.waiters.first?.pause
    }
    next?.cancel()
  }

  func queue() -> Ticket {
    state.withLock { state in
      state.lastTicket += 1
      state.waiters.append(Waiter(ticket: state.lastTicket, since: .now))
      return state.lastTicket
    }
  }

  /// Ends waiting. Nothing happens if it has ended.
  func leave(_ ticket: Ticket) { state.withLock { $0.leave(ticket) }?.cancel() }

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
    let most = entries()
    // Cancelled to end it early.
    let pause = Task { _ = try? await Task.sleep(for: .milliseconds(isNext ? 10 : 50)) }
    let goesOn = state.withLock { state in
      guard let index = state.waiters.firstIndex(where: { $0.ticket == ticket }),
        index > 0 || state.taken >= most
      else { return true }
      state.waiters[index].pause = pause
      return false
    }
    if goesOn { pause.cancel() }
    await withTaskCancellationHandler {
      await pause.value
    } onCancel: {
      pause.cancel()
    }
    try Task.checkCancellation()
  }
}
