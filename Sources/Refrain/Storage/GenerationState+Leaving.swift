// SPDX-License-Identifier: MIT

/// Readers that jump or leave: what that says of those who come next, and what becomes of requests
/// that were made for them.
///
/// What is under way to nobody is lost once its connection is closed, and comes again where it is
/// wanted after all. So a request that nobody reads towards any more first waits, as for a slow reader:
/// many come back, as a player does that looks at the end of a file and then plays its beginning. But
/// whoever read on for a while and jumps is not kept waiting by what is under way to where they were.
extension GenerationState {
  /// So many requests wait for a reader to come back.
  private static let mostAbandoned = 2

  /// A reader has jumped elsewhere, or leaves.
  mutating func runEnded(_ reader: Reader) {
    hasJumped = true
    if !reader.isBackground, reader.runLength >= 2 * limits.firstRequest { hasLeftLongRun = true }
    // Who has come to its end could not have read on.
    let end = min(reader.end, length ?? .max)
    guard reader.hasRead, !reader.isBackground, reader.position < end else { return }
    runs.note(reader.runLength)
  }

  /// A reader stays, and reads nothing for now.
  mutating func rest(_ id: ReaderID) -> [Action] {
    guard let reader = readers[id] else { return [] }
    readers[id]?.isReading = false
    readers[id]?.isActive = false
    runEnded(reader)
    return watchAbandoned()
  }

  /// After a jump, and when a reader has left: has requests ended, some time from now, that nobody
  /// reads towards any more, and the oldest of too many at once.
  mutating func watchAbandoned() -> [Action] {
    guard hasJumped || hasLeftLongRun else { return [] }
    hasJumped = false
    let abandoned = abandonedFetches
    guard !abandoned.isEmpty else {
      // Somebody has come back, or nothing was under way.
      hasLeftLongRun = false
      return []
    }
    if hasLeftLongRun, isPlayerWaiting {
      hasLeftLongRun = false
      return abandoned.flatMap { callOff($0) }
    }
    var actions = abandoned.dropLast(Self.mostAbandoned).flatMap { callOff($0) }
    if !isWatchingAbandoned {
      isWatchingAbandoned = true
      actions.append(.watchAbandoned)
    }
    return actions
  }

  /// Ends what has not come on while nobody read towards it.
  ///
  /// - Parameter before: how far each such fetch was when this was looked at last.
  /// - Returns: how far they are now; nil where there is nothing to look at any more.
  mutating func releaseStalled(
    since before: [FetchID: Int64]
  ) -> (actions: [Action], positions: [FetchID: Int64]?) {
    let positions = abandonedPositions
    guard !positions.isEmpty else {
      isWatchingAbandoned = false
      return ([], nil)
    }
    let stalled = positions.keys.filter { before[$0] == positions[$0] }.sorted()
    return (stalled.flatMap { callOff($0) }, positions)
  }

  /// How far each fetch is that nobody reads towards.
  var abandonedPositions: [FetchID: Int64] {
    if !hasReaders { return fetches.mapValues(\.position) }
    let abandoned = Set(abandonedFetches)
    return fetches.filter { abandoned.contains($0.key) }.mapValues(\.position)
  }

  /// Fetches that nobody reads towards, of which another request could bring the rest; the oldest
  /// first. What is still to be found out about the resource serves all.
  private var abandonedFetches: [FetchID] {
    guard info != nil, expectedReaders.isEmpty, !isSuperseded, !isClosed else { return [] }
    let candidates = fetches.filter { $0.value.canBeAskedForAgain(limits) }.keys.sorted()
    if candidates.isEmpty { return [] }
    var covered = readable
    for fetch in fetches.values where !fetch.ahead.isEmpty {
      covered.insert(contentsOf: fetch.ahead)
    }
    // One reader may wait in several places at once.
    var places = waiters.values.compactMap { waiter in
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

  private var isPlayerWaiting: Bool {
    waiters.values.contains { $0.offset != nil && readers[$0.reader]?.isBackground == false }
  }

  private mutating func callOff(_ id: FetchID) -> [Action] {
    guard let fetch = fetches[id] else { return [] }
    fetches[id]?.isCalledOff = true
    // Whoever wants the rest from now on asks for it.
    if !fetch.isWhole, !fetch.isConfirmation {
      fetches[id]?.range = fetch.range.lowerBound..<max(fetch.position, fetch.range.lowerBound)
    }
    return fetch.task.map { [.cancel($0)] } ?? []
  }
}

extension GenerationState.Fetch {
  /// What it is still to bring.
  var ahead: ByteRange { min(position, range.upperBound)..<range.upperBound }

  /// Another request could bring the rest, and the rest is too much to be brought home.
  fileprivate func canBeAskedForAgain(_ limits: FetchPlan) -> Bool {
    !isWhole && !isComparing && !isConfirmation && !isCalledOff
      && range.upperBound - position > limits.mostBroughtHome
  }
}
