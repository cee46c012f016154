// SPDX-License-Identifier: MIT

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

  /// Wakes the readers that find something, and plans fetches for those that wait on, those in the
  /// background last.
  mutating func plan() {
    wakeServed()
    let waits = readers.waits.sorted {
      ($0.reader.isBackground ? 1 : 0, $0.id) < ($1.reader.isBackground ? 1 : 0, $1.id)
    }
    for wait in waits {
      plan(for: wait.reader, at: wait.offset, isWaiting: true)
    }
    resumePaused()
  }

  mutating func plan(for reader: Reader, at place: Int64?, isWaiting: Bool) {
    guard !isOver, !isOffline, handed == nil, reader.isActive else { return }
    if reader.awaitsConfirmation { return confirm(for: reader, at: place) }
    let offset = place ?? reader.position
    var reader = reader
    reader.position = offset
    if isWaiting, !reader.isBackground { promote(at: offset) }
    // One response for all of it cannot be contradicted by another.
    if reader.fillsWhole, info == nil { reader.readsOn = true }
    let running = fetches.all.filter(\.value.bringsBytes)
    guard
      let range = currentLimits.request(
        for: reader, isWaiting: isWaiting, readable: reader.isBackground ? stored : readable,
        running: Array(running.values))
    else { return }
    if currentLimits.supportsRanges != false,
      let late = running.first(where: { $0.value.ahead.contains(range.lowerBound) })
    {
      fetches[late.key]?.range = late.value.range.lowerBound..<range.lowerBound
    }
    start(.init(range: range, isWhole: comesWhole, isBackground: reader.isBackground))
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
    let nearer = fetches.values.filter { $0.bringsBytes && $0.position > fetch.position }
    if isAwaited(fetch, beside: nearer) { return true }
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

  private func isAwaited(_ fetch: RunningFetch, beside others: [RunningFetch]) -> Bool {
    readers.waiters.values.compactMap(\.offset).contains { offset in
      fetch.ahead.contains(offset) && !others.contains { $0.ahead.contains(offset) }
    }
  }

  /// Pauses a fetch that is not wanted now, until `resume` is called. Without readers, one that
  /// would restart at the first byte is given up instead (false).
  mutating func pause(_ id: FetchID, _ resume: @escaping Wake) -> Bool {
    guard let fetch = fetches[id], !isOver, !isWanted(id),
      !readers.isDeserted || !(fetch.isWhole || fetch.isConfirmation)
    else { return false }
    fetches[id]?.paused = resume
    recount()
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

  // MARK: For others

  /// The ranges that fetches bring, from the event of their start to that of their end.
  var fetching: RangeSet<Int64> {
    RangeSet(fetches.values.filter { !$0.isConfirmation }.map(\.range))
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

  mutating func endBody(_ id: FetchID) {
    if fetches[id]?.isReceiving == true { fetches[id]?.phase = .asking }
    recount()
  }

  /// Counts the fetches that players are short of (`PlaybackPriority`).
  mutating func recount() {
    let count = fetches.values.count(where: isShort)
    if count != fetches.shortCount { actions.append(.countShort(count - fetches.shortCount)) }
    fetches.shortCount = count
  }

  /// Whether a player wants more of a fetch at once. A live stream arrives as slowly as it plays on
  /// any network, so only its start counts.
  private func isShort(of fetch: RunningFetch) -> Bool {
    fetch.isReceiving && fetch.paused == nil && !fetch.isBackground && !isOver
      && liveEnd ?? 0 < limits.firstRequest
      && readers.values.contains { $0.isActive && !$0.isBackground }
  }

  // MARK: Ending

  /// Whether this fetch has brought nothing to readers that wait for its bytes: another request at
  /// once would do no better.
  func endsInVain(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], !fetch.isConfirmation, !fetch.isCalledOff, fetch.brought == 0,
      handed == nil, !isOver
    else { return false }
    let others = fetches.all.filter { $0.key != id && $0.value.bringsBytes }.map(\.value)
    return isAwaited(fetch, beside: others)
      || info == nil && others.isEmpty && !readers.waiters.isEmpty
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
    plan()
    if handed != nil, fetches.isEmpty { wake(readers.waits, with: MediaCacheError.endedEarly) }
  }

  private mutating func report(
    _ error: MediaCacheError, of fetch: RunningFetch, isForBackground: Bool
  ) {
    let failed = readers.waits.filter { wait in
      if fetch.isConfirmation { return wait.reader.awaitsConfirmation }
      if isForBackground, !wait.reader.isBackground { return false }
      guard let offset = wait.offset else { return info == nil }
      return !wait.reader.awaitsConfirmation && fetch.ahead.contains(offset)
    }
    wake(failed, with: error)
    let waiting = readers.waiting
    for (id, reader) in readers.all where !waiting.contains(id) {
      // It must not be taken for one that reads on.
      if isForBackground, reader.isBackground { readers[id]?.activity = .idle }
      // Its filling was refused before it asked.
      if info == nil, error.status != nil, reader.fillsWhole, !reader.isActive {
        readers[id]?.missed = error
      }
    }
  }
}
