// SPDX-License-Identifier: MIT

/// An entry that is held open between requests, so that those for bytes that are stored and fresh
/// are answered without waiting. Lets go of it when it goes itself.
package final class EntryLease: Sendable {
  private let entry: Entry

  init?(_ entry: Entry) {
    guard entry.tryHold() else { return nil }
    self.entry = entry
  }

  deinit {
    // When it was used last says who has to go first.
    let (budget, name) = (entry.context.budget, entry.name)
    Task(executorPreference: IOThreads.background) { budget.touch(name) }
    entry.release()
  }

  package var key: CacheKey { entry.key }

  /// What time it is for the cache.
  package var now: Moment { entry.context.now }

  /// What is known of the resource, where it may be given without asking the origin.
  package func known(_ terms: FreshnessRequirements, at now: Moment) -> StoredResponse? {
    guard let generation = entry.current else { return nil }
    let asking = GenerationState.Asking(entry.context.configuration)
    return generation.withState { state in
      guard !state.isSuperseded, !state.isClosed, let known = state.known else { return nil }
      guard state.isGranted(to: terms.credentials), state.isUsable(on: terms, asking, at: now)
      else { return nil }
      return known
    }
  }

  /// The file, where all of the range is stored in it, of what is known still.
  package func file(of known: StoredResponse, holding range: ByteRange) -> EntryFile? {
    guard let generation = entry.current else { return nil }
    let file = generation.withState { state -> EntryFile? in
      guard state.known === known, let file = state.file,
        let stored = state.stored.range(containing: range.lowerBound),
        stored.upperBound >= range.upperBound
      else { return nil }
      return file
    }
    guard let file else { return nil }
    // Cut short by somebody else: sendfile(2) would wait for what never comes.
    guard file.reaches(range.upperBound) else {
      generation.lose(range, of: file, size: (try? file.status())?.size)
      return nil
    }
    entry.context.events.sendTraffic(
      .servedFromDisk(entry.key, Int(range.upperBound - range.lowerBound)))
    return file
  }
}
