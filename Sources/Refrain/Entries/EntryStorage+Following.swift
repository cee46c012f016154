// SPDX-License-Identifier: MIT
import Foundation

/// Follows another process that may be storing the entry: bytes that it has stored are not fetched,
/// and bytes that it is storing are not fetched just to store them.
extension EntryStorage {
  /// How often the progress of another process is checked.
  static let followInterval: Duration = .milliseconds(100)

  enum Claim: Sendable {
    /// No other process stores the entry; this one does from now on, if it can.
    case granted
    /// Another process stores it.
    case taken
  }

  /// Claims the right to store if it is free, and adopts bytes that another process has stored.
  func claim(_ generation: Generation) -> Claim {
    let isBarred = generation.withState { state in
      if case .forGood = state.storage.ban { true } else { false }
    }
    if lock != nil || isBarred { return .granted }
    let isWriter: Bool
    do throws(DiskError) {
      isWriter = try takeLock()
    } catch {
      // Storing will report the cause.
      return .granted
    }
    let (asking, now) = (generation.entry.starter.asking, generation.entry.now)
    // A disk error is ignored here: storing will encounter it again.
    if let (found, stored) = try? lookUp(), let contents = stored {
      let decision = StoringDecision.decide(
        holdsLock: false, found: found, memory: generation.withState(\.storingMemory))
      if decision == .catchUp {
        generation.perform { $0.isOver ? [] : $0.catchUp(contents) }
      } else if mayUse(contents.record) {
        generation.perform { state in
          if contents.record.freshness.noStore { state.storage.ignoreNoStore() }
          return state.adoptLate(contents, asking, at: now)
        }
      }
    }
    generation.withState { state in
      if isWriter {
        guard state.storageProblem == .inUse, state.isTransient else { return }
        state.storage.allow()
      } else if !state.storage.isPrepared {
        state.storage.forbid(.until(.now + .seconds(1)), .inUse)
      }
    }
    return isWriter ? .granted : .taken
  }
}

extension GenerationState {
  /// Whether another process is believed to store the entry.
  var isFollowing: Bool { isTransient && storageProblem == .inUse }

  /// Adopts an entry that another process has begun to store since this one was opened with
  /// nothing, with the same result as opening it now.
  mutating func adoptLate(
    _ contents: EntryDirectory.Contents, _ asking: Asking, at now: Moment
  ) -> [Action] {
    guard info == nil, generationID == nil, !isOver, fetches.isEmpty else {
      return []
    }
    var next = self
    next.adopt(contents)
    guard !next.isUnrepeatable else { return [] }
    next.lastContact =
      contents.record.freshness.confirmedUptime.map { .responded(at: $0) } ?? .unasked
    for (id, reader) in readers {
      let isUsable = next.isUsable(on: reader.terms, asking, at: now)
      next.readers[id]?.awaitsConfirmation = !isUsable
    }
    self = next
    let served = wakeServed()
    for waiter in readers.waiters.values {
      guard let reader = readers[waiter.reader], reader.awaitsConfirmation
      else { continue }
      return served + confirm(for: reader, at: waiter.offset)
    }
    return served
  }
}
