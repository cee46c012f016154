// SPDX-License-Identifier: MIT
import RefrainLocks

/// The open entries, one per key, while they are held. No more are open at a time than leave
/// descriptors to the rest of the process (`DescriptorBudget`).
final class EntryTable: Sendable {
  private enum Slot {
    case open(Entry)
    /// The entry is being opened or closed. The closure waits until that has ended.
    case busy(@Sendable () async -> Void)

    var entry: Entry? { if case .open(let entry) = self { entry } else { nil } }
  }

  private struct State {
    var slots: [CacheKey: Slot] = [:]
    var isClosed = false
    var holders: [UInt64: @Sendable () -> Bool] = [:]
  }

  private let state = Mutex(State())
  private let most: @Sendable () -> Int
  private let patience: Duration

  /// - Parameter patience: of those who wait for an entry to close; longer than
  ///   `MediaCache.keepForOthers`.
  init(
    most: @escaping @Sendable () -> Int = { DescriptorBudget.forEntries },
    patience: Duration = .seconds(GenerationState.joinSeconds + 1)
  ) {
    (self.most, self.patience) = (most, patience)
  }

  /// Returns the entry of a key, held once more, and opened by `open` if necessary. If no more may
  /// be open, those held only for speed are released, and the caller's task waits a little.
  func entry(
    for key: CacheKey, open: @Sendable @escaping () -> Entry
  ) async throws -> Entry {
    let end = ContinuousClock.now + patience
    while true {
      try Task.checkCancellation()
      if let entry = await heldEntry(for: key) { return entry }
      let most = most()
      var isFull = false
      let opening = try state.withLock { state throws(MediaCacheError) -> Task<Entry, Never>? in
        if state.isClosed { throw MediaCacheError(.closed, "The cache was closed.") }
        guard state.slots[key] == nil else { return nil }
        isFull = state.slots.count >= most
        if isFull { return nil }
        let task = Task(executorPreference: IOThreads.shared) {
          let entry = open()
          self.state.withLock { $0.slots[key] = .open(entry) }
          return entry
        }
        state.slots[key] = .busy { _ = await task.value }
        return task
      }
      // Already held for this caller.
      if let opening { return await opening.value }
      guard isFull else { continue }
      releaseIdle()
      guard .now < end else {
        throw MediaCacheError(
          .storage,
          "Too many resources are open at once: the limit of open files allows only \(most).",
          remedy: "Close readers, or raise the limit (ulimit -n).")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// The entries that are open, being opened, or being closed.
  var count: Int { state.withLock { $0.slots.count } }

  var isEmpty: Bool { count == 0 }

  var openEntries: [Entry] { state.withLock { $0.slots.values.compactMap(\.entry) } }

  func openEntry(for key: CacheKey) -> Entry? { state.withLock { $0.slots[key]?.entry } }

  /// As `openEntry`, after waiting for one that is being opened or closed.
  func settledEntry(for key: CacheKey) async -> Entry? {
    while let slot = state.withLock({ $0.slots[key] }) {
      switch slot {
      case .open(let entry): return entry
      case .busy(let isOver): await isOver()
      }
    }
    return nil
  }

  func heldEntry(for key: CacheKey) async -> Entry? {
    while let entry = await settledEntry(for: key) {
      if entry.tryHold() { return entry }
    }
    return nil
  }

  func settledEntries(_ isMeant: (CacheKey) -> Bool = { _ in true }) async throws -> [Entry] {
    var entries: [Entry] = []
    for key in state.withLock({ Array($0.slots.keys) }) where isMeant(key) {
      try Task.checkCancellation()
      if let entry = await settledEntry(for: key) { entries.append(entry) }
    }
    return entries
  }

  /// `release` returns whether anything was held. Returns a number for `removeHolder`.
  func addHolder(_ release: @escaping @Sendable () -> Bool) -> UInt64 {
    let number = UInt64.random(in: .min ... .max)
    state.withLock { $0.holders[number] = release }
    return number
  }

  func removeHolder(_ number: UInt64) { state.withLock { $0.holders[number] = nil } }

  @discardableResult
  func releaseIdle() -> Bool {
    let releases = state.withLock { Array($0.holders.values) }
    return releases.reduce(false) { $1() || $0 }
  }

  /// Called under the lock of the entry: whoever finds it closed finds it busy here.
  func close(_ key: CacheKey, _ work: @Sendable @escaping () async -> Void) {
    state.withLock { state in
      let task = Task(executorPreference: IOThreads.background) {
        await work()
        self.state.withLock { $0.slots[key] = nil }
      }
      state.slots[key] = .busy { await task.value }
    }
  }

  /// Waits for the entries that are busy now, and returns whether there were any.
  func settle() async -> Bool {
    var isBusy = false
    for case .busy(let isOver) in state.withLock({ Array($0.slots.values) }) {
      await isOver()
      isBusy = true
    }
    return isBusy
  }

  /// Prevents entries from opening, and waits until every open one has been recorded and closed.
  func shutDown() async {
    state.withLock { $0.isClosed = true }
    while !isEmpty {
      // Some may have been opening when the others were shut down.
      for entry in openEntries { entry.shutDown() }
      if await settle() { continue }
      // For fetches to end. Not cancelled with the caller, which would not wait then.
      await Task { try? await Task.sleep(for: .milliseconds(1)) }.value
    }
  }
}

/// Holds an entry open, so that requests for stored and fresh bytes are answered without waiting.
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

  package var now: Moment { entry.now }

  /// Nil unless the stored response may be used without asking the origin, and is not removed.
  package func known(_ terms: ReadTerms, at now: Moment) -> StoredResponse? {
    let (known, file) =
      entry.current?.withState { state -> (StoredResponse?, EntryFile?) in
        let isUsable = !state.isOver && state.isUsable(on: terms, at: now)
        return (isUsable ? state.known : nil, state.file)
      } ?? (nil, nil)
    return file?.isUnlinked == true ? nil : known
  }

  /// Returns the file if all of the range is stored in it and `known` is still current.
  package func file(of known: StoredResponse, holding range: ByteRange) -> EntryFile? {
    guard let generation = entry.current else { return nil }
    let found = generation.withState { state -> EntryFile? in
      let isStored = state.stored.end(from: range.lowerBound) >= range.upperBound
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
