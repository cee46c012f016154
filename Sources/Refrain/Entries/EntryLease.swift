// SPDX-License-Identifier: MIT

/// An entry that is held open between requests, so that requests for stored and fresh bytes are
/// answered without waiting. Releases the entry when deallocated.
package final class EntryLease: Sendable {
  private let entry: Entry

  init?(_ entry: Entry) {
    guard entry.tryHold() else { return nil }
    self.entry = entry
  }

  deinit {
    // The time of last use decides the order of eviction.
    let (budget, name) = (entry.storage.budget, entry.name)
    Task(executorPreference: IOThreads.background) { budget.touch(name) }
    entry.release()
  }

  package var key: CacheKey { entry.key }

  /// The current time of the cache's clock.
  package var now: Moment { entry.now }

  /// Returns the stored response, if it may be used without asking the origin, and no other process
  /// has removed it.
  package func known(_ terms: ReadTerms, at now: Moment) -> StoredResponse? {
    let (known, file) =
      entry.current?.withState { state -> (StoredResponse?, EntryFile?) in
        let isUsable = !state.isOver && state.isUsable(on: terms, at: now)
        return (isUsable ? state.known : nil, state.file)
      } ?? (nil, nil)
    return file?.isRemoved == true ? nil : known
  }

  /// Returns the file if all of the range is stored in it and `known` is still current.
  package func file(of known: StoredResponse, holding range: ByteRange) -> EntryFile? {
    guard let generation = entry.current else { return nil }
    let found = generation.withState { state -> EntryFile? in
      let stored = state.stored.range(containing: range.lowerBound)
      let isStored = stored.map { $0.upperBound >= range.upperBound } ?? false
      return state.known === known && isStored ? state.file : nil
    }
    guard let file = found else { return nil }
    // Another program has truncated the file: sendfile(2) would wait for bytes that never come.
    guard file.reaches(range.upperBound) else {
      generation.lose(range, of: file)
      return nil
    }
    entry.events.sendTraffic(
      .servedFromDisk(entry.key, Int(range.upperBound - range.lowerBound)))
    return file
  }
}
