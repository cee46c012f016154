// SPDX-License-Identifier: MIT
import Foundation

/// Readers: what they find, and how they wait.
extension GenerationState {
  /// Looks up a reader's offset, and advances the reader by up to `count` of the bytes found there.
  mutating func lookUp(_ id: ReaderID, at offset: Int64, count: Int) -> Lookup<AvailableBytes> {
    // The reader was just cancelled, or moved to another generation, and will notice by itself.
    guard var reader = readers[id] else { return .moved }
    move(&reader, to: offset)
    let found = available(to: id, reader, at: offset)
    var looksAhead = false
    switch found {
    case .found(.file(_, let upTo)):
      reader.advance(by: min(Int64(count), upTo - offset))
      // The usual case, which has to be fast: there is plenty ahead.
      looksAhead = upTo - reader.position <= limits.maximumReadAhead || !fetches.isEmpty
    case .found(.memory(let bytes)):
      reader.advance(by: min(Int64(count), Int64(bytes.count)))
      looksAhead = true
    case .wait where !reader.awaitsConfirmation: reader.activity = .aboutToWait
    default: break
    }
    readers[id] = reader
    if looksAhead, !isComplete, !isOffline {
      plan(for: id, isWaiting: false)
      releaseUnwanted()
      resumePaused()
    }
    if reader.awaitsConfirmation, case .wait = found { confirm(for: reader, at: offset) }
    return found
  }

  func lookUpInformation(_ id: ReaderID) -> Lookup<ContentInformation> {
    // As `lookUp`.
    guard let reader = readers[id] else { return .moved }
    return obstacle(for: id, reader) ?? info.map { .found($0) }
      ?? (isOver ? .failed(Self.changed) : .wait)
  }

  private func available(
    to id: ReaderID, _ reader: Reader, at offset: Int64
  ) -> Lookup<AvailableBytes> {
    if let obstacle: Lookup<AvailableBytes> = obstacle(for: id, reader) { return obstacle }
    if let length, offset >= length { return .found(.end) }
    if let range = stored.range(containing: offset), let file {
      return .found(.file(file, upTo: min(range.upperBound, length ?? .max)))
    }
    // In the background, bytes are fetched to be stored.
    if !reader.isBackground, let bytes = transient.bytes(at: offset) {
      return .found(.memory(bytes))
    }
    if life == .superseded { return .failed(isLive ? Self.brokeOff : Self.changed) }
    if reader.isBackground, isLive { return .failed(.endless) }
    guard isOutOfReach(offset) else { return .wait }
    // A reader that has read nothing may join the stream at its current position.
    return hasPassedStart && !reader.hasRead ? .moved : .failed(Self.outOfReach)
  }

  /// Returns what keeps a reader from all that is known and stored.
  private func obstacle<Found>(for id: ReaderID, _ reader: Reader) -> Lookup<Found>? {
    if life == .closed { return .failed(Self.closed) }
    if life == .superseded, !reader.hasRead { return .moved }
    // In place of a response that was handed to another one, a client asks for itself, and a player
    // begins with the next generation.
    if let handed, handed.reader != id {
      return reader.terms.audience == .client ? .failed(ReadTerms.personal) : .moved
    }
    return reader.awaitsConfirmation ? .wait : nil
  }

  private mutating func move(_ reader: inout Reader, to offset: Int64) {
    defer { reader.activity = .reading }
    if offset == reader.position, reader.isActive { return }
    // Small steps ahead count as sequential reading: a demuxer skips. So do larger steps over stored
    // bytes: a client may read those from the file itself.
    let step = offset - reader.position
    let goesOn =
      reader.isActive && step >= 0
      && (step <= limits.firstRequest
        || stored.range(containing: reader.position).map { offset <= $0.upperBound } == true)
    if !goesOn { runEnded(reader) }
    reader.runLength = goesOn ? reader.runLength + step : 0
    reader.position = offset
  }

  // MARK: Waiting

  /// Registers a waiter.
  ///
  /// - Returns: its outcome, if its bytes are there or can never come.
  mutating func wait(_ id: WaiterID, _ waiter: Waiter) -> Result<Void, any Error>? {
    // The reader looks up its offset again, and learns the reason.
    guard let reader = readers[waiter.reader] else { return .success(()) }
    if reader.activity == .aboutToWait { readers[waiter.reader]?.activity = .reading }
    if isServed(waiter.reader, reader, at: waiter.offset) { return .success(()) }
    if isOffline { return .failure(MediaCacheError.offline) }
    if let error = reader.refusal {
      readers[waiter.reader]?.refusal = nil
      if info == nil, fetches.isEmpty { return .failure(error) }
    }
    if handed != nil, fetches.isEmpty { return .failure(Self.handedInPart) }
    if !reader.isActive { readers[waiter.reader]?.activity = .asking }
    readers.add(waiter, as: id)
    if reader.awaitsConfirmation { confirm(for: reader, at: waiter.offset) } else { plan() }
    releaseUnwanted()
    recount()
    return nil
  }

  /// Whether a reader has nothing to wait for at an offset, or for the content information (nil): it
  /// looks again, and finds bytes or an error.
  func isServed(_ id: ReaderID, _ reader: Reader, at offset: Int64?) -> Bool {
    if let offset {
      if case .wait = available(to: id, reader, at: offset) { return false }
    } else if case .wait = lookUpInformation(id) {
      return false
    }
    return true
  }

  mutating func cancelWaiter(_ id: WaiterID) {
    let waits = readers.waits.filter { $0.id == id }
    if waits.isEmpty { return }
    wake(waits, with: CancellationError())
  }

  mutating func wakeServed() {
    wake(readers.waits.filter { isServed($0.readerID, $0.reader, at: $0.offset) })
  }

  /// Whether a request for others is running, or about to, while nothing is known of the resource.
  /// Readers that waited and no longer wait have received an error.
  func isAsked(byOthersThan id: ReaderID) -> Bool {
    !fetches.isEmpty || !readers.waiters.isEmpty
      || readers.all.contains { (other, reader) in
        other != id && (reader.activity == .idle || reader.activity == .aboutToWait)
      }
  }

  static let changed = MediaCacheError(
    .resourceChanged, "The resource changed at the origin while it was being read.",
    remedy: "Open the resource again to read the new version.")
}

/// Readers that jump or leave, and what becomes of the requests made for them.
///
/// Bytes in transit without a reader are lost once their connection is closed, and are sent again
/// if they are wanted after all. So a request without readers first waits, as for a slow reader:
/// many readers come back, like a player that reads the end of a file and then plays its beginning.
/// But a reader that jumps after reading sequentially for a while must not wait behind such a
/// request.
extension GenerationState {
  private mutating func runEnded(_ reader: Reader) {
    readers.runEnded(reader, in: length, firstRequest: limits.firstRequest)
  }

  /// Records that a reader stays, but reads nothing for now.
  mutating func rest(_ id: ReaderID) {
    guard let reader = readers[id] else { return }
    readers[id]?.activity = .idle
    runEnded(reader)
    releaseUnwanted()
  }

  mutating func detach(_ id: ReaderID) {
    wake(readers.waits.filter { $0.readerID == id }, with: CancellationError())
    if let reader = readers[id] { runEnded(reader) }
    readers.remove(id)
    // The file is unlinked; closing the descriptor frees its blocks.
    if life == .superseded, readers.isEmpty { storage.releaseFile() }
    recount()
    if !transient.isEmpty { transient.keep(near: transientWindows) }
    releaseUnwanted()
  }

  /// Ends fetches that no reader is left to want, which may be in a while: a small rest is received
  /// all the same, so that it is not requested again.
  ///
  /// After a jump or a departure, that is the oldest if there are too many, or all of them once a
  /// player waits after a long run.
  mutating func releaseUnwanted() {
    if readers.isDeserted {
      for (id, fetch) in fetches.all
      where fetch.isResting || (fetch.isWhole || fetch.isConfirmation) && !isKeptToEnd(fetch) {
        resume(id)
        callOff(id)
      }
      return watch()
    }
    guard readers.departure != .nobody else { return }
    let abandoned = abandonedFetches
    let isAfterLongRun = readers.departure == .afterLongRun
    let endsAll = isAfterLongRun && readers.isPlayerWaiting
    if abandoned.isEmpty || endsAll || !isAfterLongRun { readers.departure = .nobody }
    if abandoned.isEmpty { return }
    // Two wait for a reader to come back.
    for id in abandoned.dropLast(endsAll ? 0 : 2) { callOff(id) }
    watch()
  }

  /// Has fetches without readers checked from time to time, if there are any.
  mutating func watch() {
    if fetches.areWatched { return }
    _ = fetches.watch(abandonedPositions)
    if fetches.areWatched { actions.append(.watchAbandoned) }
  }

  /// Ends fetches without readers that have made no progress since the last check.
  ///
  /// - Returns: whether any are left to check.
  mutating func releaseStalled() -> Bool {
    if readers.areExpected {
      // They would have arrived by now.
      readers.areExpected = false
      releaseUnwanted()
    }
    for id in fetches.watch(abandonedPositions) { callOff(id) }
    return fetches.areWatched
  }

  /// Ends a fetch for lack of readers. A reader that wants the rest of a range from now on requests it.
  private mutating func callOff(_ id: FetchID) {
    guard let fetch = fetches[id] else { return }
    fetches[id]?.isCalledOff = true
    if !fetch.isWhole, !fetch.isConfirmation { fetches[id]?.endAtPosition() }
    if let task = fetch.task { actions.append(.cancel(task)) }
  }

  private var abandonedPositions: [FetchID: Int64] {
    if readers.all.isEmpty { return fetches.all.mapValues(\.position) }
    let abandoned = Set(abandonedFetches)
    return fetches.all.filter { abandoned.contains($0.key) }.mapValues(\.position)
  }

  /// The fetches without readers whose rest another request could bring, and too long to be received
  /// regardless; oldest first. None while the resource is unknown, because that concerns every reader.
  private var abandonedFetches: [FetchID] {
    guard info != nil, !isOneResponse, !readers.areExpected, !isOver else { return [] }
    let candidates = fetches.all.filter { _, fetch in
      !fetch.isWhole && !fetch.isConfirmation && !fetch.isCalledOff
        && fetch.range.upperBound - fetch.position > limits.mostBroughtHome
    }
    if candidates.isEmpty { return [] }
    let covered = readable.with(fetches.values)
    // One reader may wait in several places at once.
    var places = readers.waits.compactMap { wait in
      wait.offset.map { (at: $0, end: wait.reader.end) }
    }
    places += readers.values.filter(\.isReading).map { ($0.position, $0.end) }
    let isAwaited = { (fetch: RunningFetch) in
      places.contains { place in
        fetch.ahead.contains(place.at)
          || place.at <= fetch.position && fetch.position < place.end
            && covered.range(containing: place.at)?.contains(fetch.position) == true
      }
    }
    return candidates.filter { !isAwaited($0.value) }.map(\.key).sorted()
  }
}
