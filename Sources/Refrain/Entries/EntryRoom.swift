// SPDX-License-Identifier: MIT
import RefrainLocks

/// The places for open entries: as many as leave descriptors to the rest of the process
/// (`DescriptorBudget`). Who finds none waits, first come, first served.
final class EntryRoom: Sendable {
  /// The places of this process, to which the limit of descriptors applies.
  static let ofProcess = EntryRoom()

  struct Ticket: Sendable, Hashable {
    fileprivate var number: UInt64
    fileprivate var since = ContinuousClock.now
  }

  private struct State {
    var taken = 0
    /// The oldest first, each with what it waits for at most; that is cancelled to wake it.
    var waiters: [(ticket: Ticket, pause: Task<Void, Never>?)] = []
    var lastNumber: UInt64 = 0

    /// Has the next one look for a place.
    func wakeNext() { waiters.first?.pause?.cancel() }

    mutating func leave(_ ticket: Ticket?) {
      guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return }
      waiters.remove(at: index)
      wakeNext()
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

  /// The number of callers that wait.
  var waiting: Int { state.withLock(\.waiters.count) }

  /// Takes a place if one is free, and nobody has waited longer.
  ///
  /// - Parameter ticket: nil for a caller that has not waited.
  func take(_ ticket: Ticket?) -> Bool {
    let most = entries()
    return state.withLock { state in
      guard state.taken < most, state.waiters.first.map({ $0.ticket == ticket }) ?? true else {
        return false
      }
      state.taken += 1
      state.leave(ticket)
      return true
    }
  }

  func giveBack() {
    state.withLock { state in
      state.taken -= 1
      state.wakeNext()
    }
  }

  func queue() -> Ticket {
    state.withLock { state in
      state.lastNumber += 1
      let ticket = Ticket(number: state.lastNumber)
      state.waiters.append((ticket, nil))
      return ticket
    }
  }

  /// Ends waiting. Nothing happens if it has ended.
  func leave(_ ticket: Ticket) { state.withLock { $0.leave(ticket) } }

  /// Waits until this one is next and a place may be free, but only a moment before the next look.
  ///
  /// - Parameter relieve: called by the one that is next: closes entries that are held open only for
  ///   speed.
  /// - Throws: `MediaCacheError` if no place has become free within `patience`; `CancellationError`.
  func wait(_ ticket: Ticket, relieving relieve: () -> Void) async throws {
    if ContinuousClock.now - ticket.since >= patience {
      throw MediaCacheError(
        .storage,
        "Too many resources are open at once: the limit of open files allows only \(entries()).",
        remedy: "Close readers, or raise the limit (ulimit -n).")
    }
    let isNext = state.withLock { $0.waiters.first?.ticket == ticket }
    if isNext { relieve() }
    let most = entries()
    let pause = Task { _ = try? await Task.sleep(for: .milliseconds(isNext ? 10 : 50)) }
    state.withLock { state in
      let index = state.waiters.firstIndex { $0.ticket == ticket }
      guard let index, index > 0 || state.taken >= most else { return pause.cancel() }
      state.waiters[index].pause = pause
    }
    await withTaskCancellationHandler {
      await pause.value
    } onCancel: {
      pause.cancel()
    }
    try Task.checkCancellation()
  }
}
