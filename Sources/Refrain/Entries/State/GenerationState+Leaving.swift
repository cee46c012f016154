// SPDX-License-Identifier: MIT

/// Readers that jump or leave: the consequences for later readers, and for requests made for them.
///
/// Bytes in transit without a reader are lost once their connection is closed, and are sent again
/// if they are wanted after all. So a request without readers first waits, as for a slow reader:
/// many readers come back, like a player that reads the end of a file and then plays its beginning.
/// But a reader that jumps after reading sequentially for a while must not wait behind such a
/// request.
extension GenerationState {
  /// The number of requests that wait for a reader to come back.
  private static let mostAbandoned = 2

  /// Records that a reader has jumped elsewhere, or leaves.
  mutating func runEnded(_ reader: Reader) {
    readers.runEnded(of: reader, length: length, longRun: 2 * limits.firstRequest)
  }

  /// Records that a reader stays, but reads nothing for now.
  mutating func rest(_ id: ReaderID) {
    guard let reader = readers[id] else { return }
    readers[id]?.activity = .idle
    runEnded(reader)
    watchAbandoned()
  }

  /// After a jump or a reader's departure: schedules the end of requests without readers, and ends
  /// the oldest at once if there are too many.
  mutating func watchAbandoned() {
    guard readers.departure != .nobody else { return }
    let abandoned = abandonedFetches
    guard !abandoned.isEmpty else {
      // A reader has come back, or no request was running.
      readers.departure = .nobody
      return
    }
    if readers.departure == .afterLongRun {
      guard !readers.isPlayerWaiting else {
        readers.departure = .nobody
        for id in abandoned { callOff(id) }
        return
      }
    } else {
      readers.departure = .nobody
    }
    for id in abandoned.dropLast(Self.mostAbandoned) { callOff(id) }
    actions += fetches.watch()
  }

  /// Ends fetches without readers that have made no progress.
  ///
  /// - Parameter before: the position of each such fetch at the last check.
  /// - Returns: their positions now; nil if there are none left to check.
  mutating func releaseStalled(since before: [FetchID: Int64]) -> [FetchID: Int64]? {
    let positions = abandonedPositions
    guard !positions.isEmpty else {
      fetches.stopWatching()
      return nil
    }
    for id in positions.keys.sorted() where before[id] == positions[id] { callOff(id) }
    return positions
  }

  /// The position of each fetch without readers.
  var abandonedPositions: [FetchID: Int64] {
    if !readers.mayWant { return fetches.positions }
    let abandoned = Set(abandonedFetches)
    return fetches.positions.filter { abandoned.contains($0.key) }
  }

  /// The fetches without readers whose rest another request could bring, oldest first. None while
  /// the resource is unknown, because that concerns every reader.
  private var abandonedFetches: [FetchID] {
    guard info != nil, !isOneResponse, readers.expected.isEmpty, !isOver else {
      return []
    }
    let candidates = fetches.filter { $0.value.canBeAskedForAgain(limits) }.map(\.key).sorted()
    if candidates.isEmpty { return [] }
    var covered = readable
    for fetch in fetches.values where !fetch.ahead.isEmpty {
      covered.insert(contentsOf: fetch.ahead)
    }
    // One reader may wait in several places at once.
    var places = readers.waiters.values.compactMap { waiter in
      waiter.offset.map { (at: $0, end: readers[waiter.reader]?.end ?? .max) }
    }
    for reader in readers.values where reader.isReading {
      places.append((reader.position, reader.end))
    }
    return candidates.filter { id in
      guard let fetch = fetches[id] else { return false }
      return !places.contains { place in
        if fetch.ahead.contains(place.at) { return true }
        return place.at <= fetch.position && fetch.position < place.end
          && covered.range(containing: place.at)?.contains(fetch.position) == true
      }
    }
  }

  /// Follows the cache into or out of offline mode: while it is offline, no request runs.
  mutating func setOffline(_ isOffline: Bool) {
    guard self.isOffline != isOffline else { return }
    self.isOffline = isOffline
    guard isOffline else { return }
    for id in readers.ids { readers[id]?.awaitsConfirmation = false }
    // Waiting readers look up their offset again: they receive stored bytes, or an error.
    wake(readers.takeWaiters())
    actions += fetches.cancelAll()
  }

  private mutating func callOff(_ id: FetchID) {
    guard let fetch = fetches[id] else { return }
    actions += fetches.callOff(id)
    // A reader that wants the rest from now on requests it.
    if !fetch.isWhole, !fetch.isConfirmation {
      fetches[id]?.range = fetch.range.lowerBound..<max(fetch.position, fetch.range.lowerBound)
    }
  }
}

extension GenerationState.RunningFetch {
  /// Whether another request could bring the rest, and the rest is too long to be received
  /// regardless.
  fileprivate func canBeAskedForAgain(_ limits: FetchPlan) -> Bool {
    !isWhole && !isConfirmation && !isCalledOff
      && range.upperBound - position > limits.mostBroughtHome
  }
}
