// SPDX-License-Identifier: MIT
import Foundation

extension GenerationState {
  // MARK: Starting

  /// Starts a confirmation unless one is running; `offset` is nil for the content information.
  mutating func confirm(for reader: Reader, at offset: Int64?) {
    if let id = fetches.all.first(where: \.value.isConfirmation)?.key {
      if !reader.isBackground { fetches[id]?.isBackground = false }
      return
    }
    let (range, fills) = confirmingRequest(for: reader, at: offset)
    start(
      .init(range: range, purpose: .confirmation(fills: fills), isBackground: reader.isBackground))
  }

  /// Plans fetches for every reader: those that wait first, those in the background last.
  mutating func plan() {
    let waiting = readers.waiting
    let order = readers.all.map { id, reader in
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
      ? readers.waiters.values.filter { $0.reader == id }.map { $0.offset ?? reader.position }
      : [reader.position].filter { $0 < reader.end }
    for offset in Set(offsets).sorted() {
      reader.position = offset
      if isWaiting, !reader.isBackground { promote(at: offset) }
      // One response for all of it cannot be contradicted by another.
      if reader.fillsWhole, info == nil { reader.readOn(from: offset) }
      let running = fetches.all.filter(\.value.bringsBytes)
      if let range = limits.request(
        for: reader, isWaiting: isWaiting, readable: readable, running: Array(running.values))
      {
        if limits.supportsRanges != false,
          let late = running.first(where: { $0.value.ahead.contains(range.lowerBound) })
        {
          fetches[late.key]?.range = late.value.range.lowerBound..<range.lowerBound
        }
        start(.init(range: range, isWhole: comesWhole, isBackground: reader.isBackground))
      }
    }
    if isWaiting { resumePaused() }
  }

  /// A player waits at `offset`: its fetch no longer gives way to others. One that rests, which may
  /// wait for a network that a player need not wait for, leaves the place to another.
  private mutating func promote(at offset: Int64) {
    for (id, fetch) in fetches.all where fetch.isBackground && fetch.ahead.contains(offset) {
      fetches[id]?.isBackground = false
      if fetch.isResting { callOff(id) }
    }
  }

  private mutating func start(_ fetch: RunningFetch) {
    let id = makeID()
    // Another attempt says more than what became of earlier ones.
    for id in readers.all.keys { readers[id]?.missed = nil }
    fetches.add(fetch, as: id)
    actions.append(.startFetch(id, fetch.range))
  }

  var currentLimits: FetchPlan {
    var limits = limits
    limits.length = length
    limits.supportsRanges = comesWhole ? false : info?.supportsRanges
    limits.usualRun = readers.usualRun
    // Memory is scarcer than disk.
    if isTransient {
      limits.maximumReadAhead = min(limits.maximumReadAhead, TransientBytes.mostAhead)
    }
    return limits
  }

  // MARK: Wanted

  /// Whether a fetch should receive more: a reader has less ahead than its window, or than half of
  /// it if the fetch is paused. A small rest is always received, because it is already on its way.
  func isWanted(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], !isOver else { return false }
    if isKeptToEnd(fetch) { return true }
    if !fetch.isWhole {
      let rest = fetch.range.upperBound - fetch.position
      if rest <= limits.mostBroughtHome { return rest > 0 }
    }
    if readers.areExpected, fetch.position < limits.mostBroughtHome { return true }
    for offset in readers.waiters.values.compactMap(\.offset) where fetch.ahead.contains(offset) {
      let nearer = fetches.all.contains {
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

  /// Pauses a fetch that is not wanted now, until `resume` is called. Without readers, one that
  /// would restart at the first byte is given up instead (false).
  mutating func pause(_ id: FetchID, _ resume: @escaping Wake) -> Bool {
    guard let fetch = fetches[id], !isOver, !isWanted(id),
      !readers.isDeserted || !(fetch.isWhole || fetch.isConfirmation)
    else { return false }
    fetches[id]?.paused = resume
    return true
  }

  /// Whether readers may come to want the bytes of a fetch, which is called off otherwise.
  mutating func isWantedStill(_ id: FetchID) -> Bool {
    let isWanted = !readers.isDeserted && !isOver
    if !isWanted { fetches[id]?.isCalledOff = true }
    return isWanted
  }

  /// Marks a fetch as waiting without a request: it can be called off. False without readers.
  mutating func beginRest(_ id: FetchID) -> Bool {
    guard isWantedStill(id) else { return false }
    fetches[id]?.phase = .resting
    return true
  }

  mutating func resume(_ id: FetchID) {
    if let wake = fetches[id]?.paused.take() { actions.append(.wake([wake], nil)) }
  }

  mutating func resumePaused() {
    for (id, fetch) in fetches.all where fetch.paused != nil && isWanted(id) { resume(id) }
  }

  /// The ranges that fetches bring, from the event of their start to that of their end.
  var fetching: RangeSet<Int64> {
    var ranges = RangeSet<Int64>()
    for fetch in fetches.values where !fetch.isConfirmation && fetch.phase != .ended {
      ranges.insert(contentsOf: fetch.range)
    }
    return ranges
  }

  /// Returns the end of the bytes from an offset on that are readable, or that begun responses
  /// bring. Nil while a response brings the whole resource: it announces no range.
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

  mutating func endBody(_ id: FetchID) {
    announce(id)
    fetches[id]?.endBody()
    recount()
  }

  /// See `PlaybackPriority`.
  mutating func recount() {
    let count = fetches.values.count(where: isShort)
    if count != fetches.shortCount { actions.append(.countShort(count - fetches.shortCount)) }
    fetches.shortCount = count
  }

  /// Whether a player has less ahead of it than its window, when it comes to the bytes of a fetch. A
  /// live stream arrives as slowly as it plays on any network, so only its start counts.
  private func isShort(of fetch: RunningFetch) -> Bool {
    guard fetch.hasBody, !fetch.isBackground, !fetch.ahead.isEmpty, !isOver,
      liveEnd ?? 0 < limits.firstRequest
    else { return false }
    return readers.values.contains { reader in
      let ahead = fetch.position - reader.position
      return reader.isActive && !reader.isBackground && reader.position < fetch.range.upperBound
        && fetch.position < reader.end && ahead < limits.window(afterRun: reader.runLength)
    }
  }

  // MARK: Ending

  /// Whether this fetch has brought nothing to readers that wait for its bytes: another request at
  /// once would do no better.
  func endsInVain(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], !fetch.isConfirmation, !fetch.isCalledOff, fetch.brought == 0,
      handed == nil, !isOver
    else { return false }
    let others = fetches.all.filter { $0.key != id && $0.value.bringsBytes }.values
    return readers.waits.contains { wait in
      if wait.reader.awaitsConfirmation { return false }
      guard let offset = wait.offset else { return others.isEmpty }
      return fetch.ahead.contains(offset) && !others.contains { $0.ahead.contains(offset) }
    }
  }

  /// Whether a further response could continue where this one broke off. If it begins at the first
  /// byte, and neither a length nor a validator confirms that it is the same, all bytes so far have to
  /// be stored: then they are compared.
  func canGoOn(_ id: FetchID) -> Bool {
    if handed != nil { return false }
    guard let fetch = fetches[id], fetch.isWhole, fetch.position > 0 else { return true }
    if isLive { return false }
    return !isUnrepeatable || stored.byteCount(in: 0..<fetch.position) == fetch.position
  }

  /// Readers that wait for its bytes receive the error; without one, they may ask again.
  mutating func fetchEnded(
    _ id: FetchID, error: MediaCacheError?, isForBackground: Bool = false
  ) {
    guard let fetch = fetches.remove(id) else { return }
    recount()
    if let error { report(error, of: fetch, isForBackground: isForBackground) }
    // Readers that came while a confirmation was being called off have waited for it in vain.
    if fetch.isConfirmation, !isOver,
      let wait = readers.waits.first(where: \.reader.awaitsConfirmation)
    {
      confirm(for: wait.reader, at: wait.offset)
    }
    wakeServed()
    if readers.waiters.isEmpty { return }
    guard handed != nil, fetches.isEmpty else { return plan() }
    wake(readers.waits, with: MediaCacheError.endedEarly)
  }

  private mutating func report(
    _ error: MediaCacheError, of fetch: RunningFetch, isForBackground: Bool
  ) {
    let waiting = readers.waiting
    let failed = readers.waits.filter { wait in
      if fetch.isConfirmation { return wait.reader.awaitsConfirmation }
      if isForBackground, !wait.reader.isBackground { return false }
      guard let offset = wait.offset else { return info == nil }
      return !wait.reader.awaitsConfirmation && offset >= fetch.position
        && offset < fetch.range.upperBound
    }
    wake(failed, with: error)
    if isForBackground {
      // It must not restart whenever another reader waits.
      let waiting = readers.waiting
      for (id, reader) in readers.all where reader.isBackground && !waiting.contains(id) {
        readers[id]?.activity = .idle
      }
    }
    for (id, reader) in readers.all
    where !waiting.contains(id) && !fetch.isCalledOff
      && misses(error, reader, at: fetch.position)
    {
      readers[id]?.missed = error
    }
  }

  /// Whether a reader that does not wait now would have the same request made again: its filling
  /// was refused before it asked, or the last bytes of a response that was cut short have woken it.
  /// A reader that plays stored bytes until then asks the origin again.
  private func misses(_ error: MediaCacheError, _ reader: Reader, at position: Int64) -> Bool {
    if info == nil { return error.status != nil && reader.fillsWhole && !reader.isActive }
    return error.retry == .cutShort && reader.isActive && !reader.awaitsConfirmation
      && reader.position <= position && position < reader.end
      && (position - reader.position) * 20 < min(position, 20 * (256 << 10))
  }
}
