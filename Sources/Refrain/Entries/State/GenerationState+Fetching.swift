// SPDX-License-Identifier: MIT
import Foundation

/// Fetches: which are started, continued, paused or ended.
extension GenerationState {
  /// Starts a confirmation of the generation, unless one is running, by a request for bytes that a
  /// reader wants.
  ///
  /// - Parameter offset: the offset that the reader waits for; nil for the content information.
  mutating func confirm(for reader: Reader, at offset: Int64?) {
    guard !fetches.values.contains(where: \.isConfirmation) else { return }
    let request = confirmingRequest(for: reader, at: offset)
    let id = makeID()
    fetches[id] = RunningFetch(
      range: request.range, purpose: .confirmation(fills: request.fills),
      isBackground: reader.isBackground)
    actions.append(.startFetch(id, request.range))
  }

  /// Plans fetches for every reader: those that wait first, those in the background last.
  mutating func plan() {
    let waiting = readers.waitingIDs
    let order = readers.ids.sorted { left, right in
      rank(left, waiting) < rank(right, waiting)
    }
    for id in order { plan(for: id, isWaiting: waiting.contains(id)) }
  }

  func rank(_ id: ReaderID, _ waiting: Set<ReaderID>) -> (Int, ReaderID) {
    ((readers[id]?.isBackground == true ? 2 : 0) + (waiting.contains(id) ? 0 : 1), id)
  }

  /// Plans fetches for a reader that continues.
  mutating func readAhead(for id: ReaderID) {
    if isComplete || isOffline { return }
    plan(for: id, isWaiting: false)
    watchAbandoned()
    resumePaused()
  }

  mutating func plan(for id: ReaderID, isWaiting: Bool) {
    guard !isOver, !isOffline, handed == nil, let reader = readers[id],
      reader.isActive, !reader.awaitsConfirmation
    else { return }
    let limits = currentLimits
    let offsets =
      isWaiting
      ? readers.waiters.values.filter { $0.reader == id }.map { $0.offset ?? reader.position }
      : [reader.position]
    for offset in Set(offsets).sorted() {
      if offset >= reader.end, !isWaiting { continue }
      // At most two: the missing request, and the one after it.
      for _ in 0..<2 {
        var demand = reader.demand(at: offset, isWaiting: isWaiting)
        // One response for all of it cannot be contradicted by another.
        if reader.fillsWhole, info == nil { demand.readsOn = true }
        let running = fetches.filter { $0.value.bringsBytes }
        let decision = limits.decide(
          for: demand, readable: reader.isBackground ? stored : readable,
          running: running.map {
            .init(range: $0.value.range, position: $0.value.position, isWhole: $0.value.isWhole)
          })
        switch decision {
        case .none: break
        case .start(let range):
          start(range, isBackground: reader.isBackground)
          continue
        case .startAndTruncate(let range, let index):
          let other = running[index].key
          fetches[other]?.range = running[index].value.range.lowerBound..<range.lowerBound
          start(range, isBackground: reader.isBackground)
          continue
        }
        break
      }
      if isWaiting, !reader.isBackground { promote(at: offset) }
    }
    if isWaiting { resumePaused() }
  }

  /// The plan by what is known now.
  var currentLimits: FetchPlan {
    var limits = limits
    limits.length = length
    limits.supportsRanges = comesWhole ? false : info?.supportsRanges
    limits.rate = fetches.rate
    limits.latency = fetches.latency
    limits.usualRun = readers.runs.usual
    // Memory is scarcer than disk.
    if isTransient { limits.maximumReadAhead = min(limits.maximumReadAhead, 2 << 20) }
    return limits
  }

  mutating func start(_ range: ByteRange, isBackground: Bool) {
    // Another attempt says more than what became of earlier ones.
    for reader in readers.ids { readers[reader]?.missedCut = nil }
    let id = makeID()
    var fetch = RunningFetch(range: range, isWhole: comesWhole, isBackground: isBackground)
    fetch.furthest = range.lowerBound
    fetches[id] = fetch
    actions.append(.startFetch(id, range))
  }

  mutating func promote(at offset: Int64) {
    for (id, fetch) in fetches where fetch.isBackground {
      guard fetch.ahead.contains(offset) else { continue }
      fetches[id]?.isBackground = false
      actions.append(.promote(id))
    }
  }

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
    if !readers.expected.isEmpty, fetch.position < limits.mostBroughtHome { return true }
    for waiter in readers.waiters.values {
      guard let offset = waiter.offset, fetch.ahead.contains(offset) else { continue }
      let nearer = fetches.contains {
        $0.key != id && $0.value.isWhole == fetch.isWhole && $0.value.position > fetch.position
          && $0.value.ahead.contains(offset)
      }
      if !nearer { return true }
    }
    return readers.values.contains { reader in
      guard reader.isActive, reader.position <= fetch.position, reader.end > fetch.position else {
        return false
      }
      // A background reader has no use for bytes that are not stored.
      if reader.isBackground { return !isTransient }
      let window = currentLimits.window(afterRun: reader.runLength)
      let isWaiting = fetch.paused != nil
      return fetch.position - reader.position < (isWaiting ? window / 2 : window)
    }
  }

  /// Whether a fetch that is not wanted now may pause. One that would restart at the first byte is
  /// given up as soon as no readers are left.
  func mayWait(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], !isOver else { return false }
    return readers.mayWant || !(fetch.isWhole || fetch.isConfirmation)
  }

  /// Whether there are readers that may come to want fetched bytes.
  var hasAudience: Bool { readers.mayWant && !isOver }

  /// Stops expecting a reader of the previous generation, which has arrived or left for good.
  mutating func stopExpecting(_ id: ReaderID) {
    if readers.stopExpecting(id) { releaseUnwanted() }
  }

  /// Stops expecting readers: another generation has become the current one.
  mutating func stopExpecting() {
    readers.expect([])
    releaseUnwanted()
  }

  /// Like `hasAudience`, for one fetch, which is called off if there are no readers.
  mutating func isWantedStill(_ id: FetchID) -> Bool {
    if !hasAudience { fetches[id]?.isCalledOff = true }
    return hasAudience
  }

  /// Marks a fetch as waiting without a request: from now on it can be called off.
  ///
  /// - Returns: false if no readers are left.
  mutating func beginRest(_ id: FetchID) -> Bool {
    guard isWantedStill(id) else { return false }
    fetches[id]?.beginRest()
    return true
  }

  mutating func endRest(_ id: FetchID) { fetches[id]?.endRest() }

  /// Begins a whole response, perhaps to a request for a range.
  ///
  /// - Returns: false if another whole response has yet to pass `offset`: one is enough, and
  ///   readers wait for that one.
  mutating func beginWhole(_ id: FetchID, at offset: Int64) -> Bool {
    let end = length ?? .max
    let other = fetches.first { other, fetch in
      other != id && fetch.isReceivingWhole && fetch.position <= offset
    }
    guard let other else {
      fetches[id]?.beginWhole(to: end)
      return true
    }
    // Its range may have been truncated where this fetch was to begin.
    fetches[other.key]?.range = 0..<end
    noteIgnoredRange()
    return false
  }

  /// The ranges that fetches bring, from the event of their start to that of their end.
  var fetching: RangeSet<Int64> {
    var ranges = RangeSet<Int64>()
    for fetch in fetches.values where !fetch.isConfirmation && fetch.phase != .ended {
      ranges.insert(contentsOf: fetch.range)
    }
    return ranges
  }

  mutating func resumePaused() {
    for (id, fetch) in fetches where fetch.paused != nil && isWanted(id) {
      actions += fetches.resume(id)
    }
  }

  /// Ends fetches that no reader is left to want. A small rest is still received, so that it is not
  /// requested again; a longer one is kept for a while.
  mutating func releaseUnwanted() {
    guard !readers.mayWant else { return }
    for (id, fetch) in fetches
    where fetch.isResting || (fetch.isWhole || fetch.isConfirmation) && !isKeptToEnd(fetch) {
      actions += fetches.resume(id) + fetches.callOff(id)
    }
    if !fetches.isEmpty { actions += fetches.watch() }
  }
}
