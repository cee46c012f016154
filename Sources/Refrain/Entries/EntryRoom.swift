// SPDX-License-Identifier: MIT
import RefrainLocks

/// The places for open entries: as many as leave descriptors to the rest of the process
/// (`DescriptorBudget`). Who finds none waits, first come, first served.
final class EntryRoom: Sendable {
  /// The places of this process, to which the limit of descriptors applies.
  static let ofProcess = EntryRoom()

  typealias Ticket = UInt64

  private struct State {
    var taken = 0
    /// Of those that wait, the oldest first.
    var tickets: [(ticket: Ticket, since: ContinuousClock.Instant)] = []
    var lastTicket: Ticket = 0
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
  var waiting: Int { state.withLock(\.tickets.count) }

  /// Takes a place if one is free, and nobody has waited longer.
  ///
  /// - Parameter ticket: nil for a caller that has not waited.
  func take(_ ticket: Ticket?) -> Bool {
    let most = entries()
    return state.withLock { state in
      guard state.taken < most, state.tickets.first.map({ $0.ticket == ticket }) ?? true else {
        return false
      }
      state.taken += 1
      state.tickets.removeAll { $0.ticket == ticket }
      return true
    }
  }

  func giveBack() { state.withLock { $0.taken -= 1 } }

  func queue() -> Ticket {
    state.withLock { state in
      state.lastTicket += 1
      state.tickets.append((state.lastTicket, .now))
      return state.lastTicket
    }
  }

  /// Ends waiting. Nothing happens if it has ended.
  func leave(_ ticket: Ticket) { state.withLock { $0.tickets.removeAll { $0.ticket == ticket } } }

  /// Waits a moment before the next look.
  ///
  /// - Parameter relieve: called by the one that is next: closes entries that are held open only for
  ///   speed.
  /// - Throws: `MediaCacheError` if no place has become free within `patience`; `CancellationError`.
  func wait(_ ticket: Ticket, relieving relieve: () -> Void) async throws {
    let (isNext, since) = state.withLock { state in
      (state.tickets.first?.ticket == ticket, state.tickets.first { $0.ticket == ticket }?.since)
    }
    if let since, ContinuousClock.now - since >= patience {
      throw MediaCacheError(
        .storage,
        "Too many resources are open at once: the limit of open files allows only \(entries()).",
        remedy: "Close readers, or raise the limit (ulimit -n).")
    }
    if isNext { relieve() }
    try await Task.sleep(for: .milliseconds(isNext ? 10 : 50))
  }
}
