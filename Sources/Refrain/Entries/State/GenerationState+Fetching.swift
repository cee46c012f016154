// SPDX-License-Identifier: MIT
import Foundation

/// Fetches: which are started, continued, paused or ended.
extension GenerationState {
  // MARK: Starting

  /// Starts a confirmation of the generation, unless one is running, by a request for bytes that a
  /// reader wants: those at `offset`, or the content information (nil).
  mutating func confirm(for reader: Reader, at offset: Int64?) {
    guard !fetches.values.contains(where: \.isConfirmation) else { return }
    let request = confirmingRequest(for: reader, at: offset)
    start(
      RunningFetch(
        range: request.range, purpose: .confirmation(fills: request.fills),
        isBackground: reader.isBackground))
  }

  /// Plans fetches for every reader: those that wait first, those in the background last.
  mutating func plan() {
    let waiting = waitingReaders
    let order = readers.map { id, reader in
      ((reader.isBackground ? 2 : 0) + (waiting.contains(id) ? 0 : 1), id)
    }
    for (_, id) in order.sorted(by: <) { plan(for: id, isWaiting: waiting.contains(id)) }
  }

  mutating func plan(for id: ReaderID, isWaiting: Bool) {
    guard !isOver, !isOffline, handed == nil, var reader = readers[id],
      reader.isActive, !reader.awaitsConfirmation
    else { return }
    let limits = currentLimits
    let readable = reader.isBackground ? stored : readable
    let offsets =
      isWaiting
      ? waiters.values.filter { $0.reader == id }.map { $0.offset ?? reader.position }
      : [reader.position].filter { $0 < reader.end }
    for offset in Set(offsets).sorted() {
      reader.position = offset
      // One response for all of it cannot be contradicted by another.
      if reader.fillsWhole, info == nil {
        reader.readsOn = true
        if offset >= reader.end { reader.end = .max }
      }
      // At most two: the missing request, and the one after it.
      requests: for _ in 0..<2 {
        let running = Array(fetches.lazy.filter(\.value.bringsBytes))
        let range: ByteRange
        switch limits.decide(
          for: reader, isWaiting: isWaiting, readable: readable, running: running.map(\.value))
        {
        case .none: break requests
        case .start(let hole): range = hole
        case .startAndTruncate(let hole, let index):
          let (other, fetch) = running[index]
          fetches[other]?.range = fetch.range.lowerBound..<hole.lowerBound
          range = hole
        }
        // Another attempt says more than what became of earlier ones.
        for id in readers.keys { readers[id]?.missed = nil }
        var fetch = RunningFetch(
          range: range, isWhole: comesWhole, isBackground: reader.isBackground)
        fetch.furthest = range.lowerBound
        start(fetch)
      }
      guard isWaiting, !reader.isBackground else { continue }
      for (id, fetch) in fetches where fetch.isBackground && fetch.ahead.contains(offset) {
        fetches[id]?.isBackground = false
        actions.append(.promoted(beginAnew: fetch.isResting ? fetch.beginAnew : nil))
      }
    }
    if isWaiting { resumePaused() }
  }

  private mutating func start(_ fetch: RunningFetch) {
    let id = makeID()
    fetches[id] = fetch
    actions.append(.startFetch(id, fetch.range))
  }

  var currentLimits: FetchPlan {
    var limits = limits
    limits.length = length
    limits.supportsRanges = comesWhole ? false : info?.supportsRanges
    limits.usualRun = usualRun
    // Memory is scarcer than disk.
    if isTransient {
      limits.maximumReadAhead = min(limits.maximumReadAhead, TransientBytes.mostAhead)
    }
    return limits
  }

  /// Begins a whole response, perhaps to a request for a range.
  ///
  /// - Returns: false if another whole response has yet to pass `offset`: one is enough, and
  ///   readers wait for that one.
  mutating func beginWhole(_ id: FetchID, at offset: Int64) -> Bool {
    let end = length ?? .max
    let other = fetches.first { other, fetch in
      other != id && fetch.isReceivingWhole && fetch.position <= offset
    }?.key
    guard let other else {
      fetches[id]?.beginWhole(to: end)
      return true
    }
    // Its range may have been truncated where this fetch was to begin.
    fetches[other]?.range = 0..<end
    note(.ignored)
    return false
  }

  // MARK: Wanted

  /// Whether a fetch should receive more: a reader has less ahead than its window. A small rest is
  /// always received, because it is already on its way. A paused fetch resumes when half of the
  /// window is left.
  func isWanted(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], !isOver else { return false }
    if isKeptToEnd(fetch) { return true }
    if !fetch.isWhole {
      let rest = fetch.range.upperBound - fetch.position
      if rest <= limits.mostBroughtHome { return rest > 0 }
    }
    if !expected.isEmpty, fetch.position < limits.mostBroughtHome { return true }
    for waiter in waiters.values {
      guard let offset = waiter.offset, fetch.ahead.contains(offset) else { continue }
      let nearer = fetches.contains {
        $0.key != id && $0.value.isWhole == fetch.isWhole && $0.value.position > fetch.position
          && $0.value.ahead.contains(offset)
      }
      if !nearer { return true }
    }
    let limits = currentLimits
    return readers.values.contains { reader in
      guard reader.isActive, reader.position <= fetch.position, reader.end > fetch.position else {
        return false
      }
      // A background reader has no use for bytes that are not stored.
      if reader.isBackground { return !isTransient }
      let window = limits.window(afterRun: reader.runLength)
      return fetch.position - reader.position < (fetch.paused != nil ? window / 2 : window)
    }
  }

  /// Pauses a fetch that is not wanted now. One that would restart at the first byte is given up as
  /// soon as no readers are left.
  ///
  /// - Parameter resume: called when it is wanted, or is to end.
  mutating func pause(_ id: FetchID, _ resume: @escaping Wake) -> Bool {
    guard let fetch = fetches[id], !isOver, !isWanted(id),
      hasReaders || !(fetch.isWhole || fetch.isConfirmation)
    else { return false }
    fetches[id]?.paused = resume
    return true
  }

  /// Whether there are readers that may come to want the bytes of a fetch, which is called off
  /// otherwise.
  mutating func isWantedStill(_ id: FetchID) -> Bool {
    let isWanted = hasReaders && !isOver
    if !isWanted { fetches[id]?.isCalledOff = true }
    return isWanted
  }

  /// Marks a fetch as waiting without a request: from now on it can be called off.
  ///
  /// - Returns: false if no readers are left.
  mutating func beginRest(_ id: FetchID) -> Bool {
    guard isWantedStill(id) else { return false }
    fetches[id]?.phase = .resting
    return true
  }

  mutating func resume(_ id: FetchID) {
    if let wake = fetches[id]?.paused.take() { actions.append(.wake([wake], nil)) }
  }

  mutating func resumePaused() {
    for (id, fetch) in fetches where fetch.paused != nil && isWanted(id) { resume(id) }
  }

  /// The ranges that fetches bring, from the event of their start to that of their end.
  var fetching: RangeSet<Int64> {
    var ranges = RangeSet<Int64>()
    for fetch in fetches.values where !fetch.isConfirmation && fetch.phase != .ended {
      ranges.insert(contentsOf: fetch.range)
    }
    return ranges
  }

  /// Returns the end of the bytes from an offset on that are readable, or that responses which have
  /// begun bring; the offset itself if there are none. Nil while a response brings the whole
  /// resource: it announces no range.
  func announcedEnd(from offset: Int64) -> Int64? {
    if fetches.values.contains(where: \.isWhole) { return nil }
    var announced = readable
    for fetch in fetches.values {
      let end = min(fetch.announcedEnd ?? 0, fetch.range.upperBound)
      if end > fetch.position { announced.insert(contentsOf: fetch.position..<end) }
    }
    return announced.end(from: offset)
  }

  // MARK: Players that are short of bytes

  mutating func beginBody(_ id: FetchID) {
    fetches[id]?.beginBody()
    recount()
  }

  mutating func endBody(_ id: FetchID) {
    fetches[id]?.endBody()
    recount()
  }

  /// Recounts the fetches that a player is short of (`PlaybackPriority`).
  mutating func recount() {
    let count = fetches.values.count { $0.hasBody && isShort(of: $0) }
    if count != shortCount { actions.append(.countShort(count - shortCount)) }
    shortCount = count
  }

  /// Whether a player that needs the fetch's bytes next has less ahead than is safe: half of the
  /// read-ahead window, at which the next request is made, but at least what plays for some seconds. A
  /// live stream arrives as slowly as it plays on any network, so only its start counts.
  private func isShort(of fetch: RunningFetch) -> Bool {
    guard !fetch.isBackground, !isOver else { return false }
    if let liveEnd, liveEnd >= limits.firstRequest { return false }
    if waits.contains(where: {
      !$0.reader.isBackground && $0.offset.map(fetch.ahead.contains) == true
    }) {
      return true
    }
    let readable = readable
    let least = min(1 << 20, limits.maximumReadAhead / 2)
    return readers.values.contains { reader in
      guard reader.isActive, !reader.isBackground else { return false }
      let end = readable.end(from: reader.position)
      return end < reader.end && fetch.ahead.contains(end)
        && end - reader.position < max(limits.window(afterRun: reader.runLength) / 2, least)
    }
  }
}

/// Readers that jump or leave: the consequences for requests made for them.
///
/// Bytes in transit without a reader are lost once their connection is closed, and are sent again
/// if they are wanted after all. So a request without readers first waits, as for a slow reader:
/// many readers come back, like a player that reads the end of a file and then plays its beginning.
/// But a reader that jumps after reading sequentially for a while must not wait behind such a
/// request.
extension GenerationState {
  /// After a jump or a reader's departure: schedules the end of requests without readers, and ends
  /// the oldest at once if there are too many; or all, once a player waits after a long run.
  mutating func watchAbandoned() {
    guard departure != .nobody else { return }
    let abandoned = abandonedFetches
    let isAfterLongRun = departure == .afterLongRun
    let endsAll = isAfterLongRun && isPlayerWaiting
    if abandoned.isEmpty || endsAll || !isAfterLongRun { departure = .nobody }
    if abandoned.isEmpty { return }
    // Two wait for a reader to come back.
    for id in abandoned.dropLast(endsAll ? 0 : 2) { callOff(id) }
    watch()
  }

  private mutating func watch() {
    if watched != nil { return }
    watched = abandonedPositions
    actions.append(.watchAbandoned)
  }

  /// Ends a fetch for lack of readers. A reader that wants the rest of a range from now on requests it.
  private mutating func callOff(_ id: FetchID) {
    guard let fetch = fetches[id] else { return }
    fetches[id]?.isCalledOff = true
    if !fetch.isWhole, !fetch.isConfirmation { fetches[id]?.endAtPosition() }
    if let task = fetch.task { actions.append(.cancel(task)) }
  }

  /// Ends fetches without readers that have made no progress since the last check.
  ///
  /// - Returns: whether any are left to check.
  mutating func releaseStalled() -> Bool {
    let positions = abandonedPositions
    for (id, position) in positions where watched?[id] == position { callOff(id) }
    watched = positions.isEmpty ? nil : positions
    return !positions.isEmpty
  }

  private var abandonedPositions: [FetchID: Int64] {
    let abandoned = hasReaders ? Set(abandonedFetches) : Set(fetches.keys)
    return fetches.filter { abandoned.contains($0.key) }.mapValues(\.position)
  }

  /// The fetches without readers whose rest another request could bring, and too long to be received
  /// regardless; oldest first. None while the resource is unknown, because that concerns every reader.
  private var abandonedFetches: [FetchID] {
    guard info != nil, !isOneResponse, expected.isEmpty, !isOver else { return [] }
    let candidates = fetches.filter { _, fetch in
      !fetch.isWhole && !fetch.isConfirmation && !fetch.isCalledOff
        && fetch.range.upperBound - fetch.position > limits.mostBroughtHome
    }
    if candidates.isEmpty { return [] }
    let covered = readable.with(fetches.values)
    // One reader may wait in several places at once.
    var places = waits.compactMap { wait in wait.offset.map { (at: $0, end: wait.reader.end) } }
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

  /// Ends fetches that no reader is left to want. A small rest is still received, so that it is not
  /// requested again; a longer one is kept for a while.
  mutating func releaseUnwanted() {
    guard !hasReaders else { return }
    for (id, fetch) in fetches
    where fetch.isResting || (fetch.isWhole || fetch.isConfirmation) && !isKeptToEnd(fetch) {
      resume(id)
      callOff(id)
    }
    if !fetches.isEmpty { watch() }
  }

  /// Stops expecting readers of the previous generation: all of them once another generation has
  /// become the current one, and one that has arrived or left for good.
  mutating func stopExpecting(_ id: ReaderID? = nil) {
    if let id, expected.remove(id) == nil { return }
    if id == nil { expected = [] }
    releaseUnwanted()
  }
}
