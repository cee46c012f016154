// SPDX-License-Identifier: MIT

extension GenerationState {
  /// One request to the origin, or a row of them, that fills a hole. `Fetch` carries it out.
  struct RunningFetch: Sendable {
    enum Purpose: Sendable, Equatable {
      case bytes
      /// Bytes of responses that each begin at the first one.
      case whole
      /// It turns into one of the others once the response brings bytes.
      case confirmation(fills: Bool)
    }

    enum Phase: Sendable {
      case asking
      /// It waits without a request.
      case resting
      /// Such a response is arriving.
      case part, whole
    }

    var range: ByteRange
    var position: Int64
    var purpose = Purpose.bytes
    var phase = Phase.asking
    var isBackground = false
    var announcedEnd: Int64?
    /// Whether it was ended for lack of readers, or its task was cancelled.
    var isCalledOff = false
    var brought: Int64 = 0
    /// The end of all that it brought: a whole response starts at the first byte again.
    var furthest: Int64 = 0
    /// The bytes stored since readers were last woken.
    var unannounced: Int64 = 0
    var task: Task<Void, Never>?
    /// Resumes it.
    var paused: Wake?

    var ahead: ByteRange { min(position, range.upperBound)..<range.upperBound }

    var isWhole: Bool { purpose == .whole }

    var isConfirmation: Bool { if case .confirmation = purpose { true } else { false } }

    /// Whether it brings the bytes of its range, unless the stored generation is outdated.
    var bringsBytes: Bool { purpose != .confirmation(fills: false) }

    var isResting: Bool { phase == .resting }

    var isReceiving: Bool { phase == .part || phase == .whole }

    mutating func endRest() { if isResting { phase = .asking } }

    mutating func beginWhole(to end: Int64) {
      (phase, purpose, range, position) = (.whole, .whole, 0..<end, 0)
    }

    mutating func bring(_ range: ByteRange) {
      brought += max(0, range.upperBound - max(range.lowerBound, furthest))
      furthest = max(furthest, range.upperBound)
      position = max(position, range.upperBound)
    }

    mutating func endAtPosition() { range = range.lowerBound..<max(range.lowerBound, position) }
  }

  struct Fetches: Sendable {
    private(set) var all: [FetchID: RunningFetch] = [:]
    private(set) var ranges = OriginRanges.announced
    /// Those without readers at the last look (`watch`).
    var watched: Set<FetchID> = []

    /// Nothing changes for one that has ended, as for readers that have left.
    subscript(id: FetchID) -> RunningFetch? {
      get { all[id] }
      set { if let newValue, all[id] != nil { all[id] = newValue } }
    }

    var values: Dictionary<FetchID, RunningFetch>.Values { all.values }
    var isEmpty: Bool { all.isEmpty }

    mutating func add(_ fetch: RunningFetch, as id: FetchID) { all[id] = fetch }

    @discardableResult
    mutating func remove(_ id: FetchID) -> RunningFetch? { all.removeValue(forKey: id) }

    mutating func move(_ id: FetchID, to position: Int64) {
      if let fetch = all[id] { all[id]?.position = max(fetch.position, position) }
    }

    /// Begins a whole response up to `end`. False if another one has yet to pass `offset`: readers
    /// wait for that one.
    mutating func beginWhole(_ id: FetchID, to end: Int64, at offset: Int64) -> Bool {
      for (other, fetch) in all
      where other != id && fetch.phase == .whole && fetch.position <= offset {
        // Its range may have been truncated where this fetch was to begin.
        all[other]?.range = 0..<end
        note(.ignored)
        return false
      }
      all[id]?.beginWhole(to: end)
      return true
    }

    mutating func note(_ found: OriginRanges) {
      if ranges == .refused || (ranges == .answered && found == .refused) { return }
      ranges = found
    }
  }
}

/// How the origin handles requests for ranges, by its responses so far.
enum OriginRanges: Sendable {
  /// Nothing is known but `ContentInformation.supportsRanges`.
  case announced
  case answered
  /// It sends the whole resource instead, whatever it announces.
  case ignored
  /// It has a usable response only to requests without a range.
  case refused
}

extension RangeSet<Int64> {
  /// Returns these bytes with those that fetches have yet to bring.
  func with(_ fetches: some Sequence<GenerationState.RunningFetch>) -> Self {
    fetches.reduce(into: self) { $0.insert(contentsOf: $1.ahead) }
  }
}

extension GenerationState {
  /// Wakes the readers that find something, and plans fetches for those that wait on.
  mutating func plan() {
    wakeServed()
    for wait in readers.waits.sorted(by: { $0.id < $1.id }) {
      plan(for: wait.reader, at: wait.offset, isWaiting: true)
    }
    resumePaused()
  }

  mutating func plan(for reader: Reader, at place: Int64?, isWaiting: Bool) {
    guard !isOver, !isOffline else { return }
    if reader.awaitsConfirmation { return confirm(for: reader, at: place) }
    var reader = reader
    reader.position = place ?? reader.position
    if isWaiting, !reader.isBackground { promote(at: reader.position) }
    // One response for all of it cannot be contradicted by another.
    if reader.fillsWhole, info == nil { reader.readsOn = true }
    let running = fetches.all.filter(\.value.bringsBytes)
    guard
      let range = currentLimits.request(
        for: reader, isWaiting: isWaiting, readable: reader.isBackground ? stored : readable,
        running: Array(running.values))
    else { return }
    for (id, late) in running where late.ahead.contains(range.lowerBound) {
      fetches[id]?.range = late.range.lowerBound..<range.lowerBound
    }
    start(range, comesWhole ? .whole : .bytes, for: reader)
  }

  private mutating func confirm(for reader: Reader, at offset: Int64?) {
    if let id = fetches.all.first(where: \.value.isConfirmation)?.key {
      if !reader.isBackground { fetches[id]?.isBackground = false }
      return
    }
    let (range, fills) = confirmingRequest(for: reader, at: offset)
    start(range, .confirmation(fills: fills), for: reader)
  }

  /// A player waits at `offset`: its fetch no longer gives way to others. One that rests, which may
  /// wait for a network that a player need not wait for, leaves the place to another.
  private mutating func promote(at offset: Int64) {
    for (id, fetch) in fetches.all where fetch.isBackground && fetch.ahead.contains(offset) {
      fetches[id]?.isBackground = false
      if fetch.isResting { callOff(id) }
    }
  }

  private mutating func start(
    _ range: ByteRange, _ purpose: RunningFetch.Purpose, for reader: Reader
  ) {
    let id = makeID()
    for id in readers.all.keys { readers[id]?.missed = nil }
    let fetch = RunningFetch(
      range: range, position: range.lowerBound, purpose: purpose,
      isBackground: reader.isBackground)
    fetches.add(fetch, as: id)
    actions.append(.startFetch(id, range))
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

  /// Whether a fetch should receive more: a reader has less ahead than its window, or than half of
  /// it if the fetch is paused. A small rest is on its way already.
  func isWanted(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], !isOver else { return false }
    if isKeptToEnd(fetch) { return true }
    let rest = fetch.range.upperBound - fetch.position
    if !fetch.isWhole, rest <= limits.mostBroughtHome { return rest > 0 }
    let nearer = fetches.values.filter {
      $0.isWhole == fetch.isWhole && $0.position > fetch.position
    }
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

  mutating func pause(_ id: FetchID, _ resume: @escaping Wake) -> Bool {
    guard fetches[id] != nil, !isOver, !isWanted(id) else { return false }
    fetches[id]?.paused = resume
    return true
  }

  mutating func resume(_ id: FetchID) {
    if let wake = fetches[id]?.paused.take() { actions.append(.wake([wake], nil)) }
  }

  mutating func resumePaused() {
    for (id, fetch) in fetches.all where fetch.paused != nil && isWanted(id) { resume(id) }
  }

  /// Marks a fetch as waiting without a request. Without readers, it is called off (false).
  mutating func beginRest(_ id: FetchID) -> Bool {
    guard !readers.isEmpty, !isOver else {
      fetches[id]?.isCalledOff = true
      return false
    }
    fetches[id]?.phase = .resting
    return true
  }

  /// The ranges that fetches bring, from the event of their start to that of their end.
  var fetching: RangeSet<Int64> {
    RangeSet(fetches.values.filter { !$0.isConfirmation }.map(\.range))
  }

  /// Returns the end of the bytes from an offset on that are readable, or that begun responses
  /// bring. Nil while a response brings the whole resource.
  func announcedEnd(from offset: Int64) -> Int64? {
    if fetches.values.contains(where: \.isWhole) { return nil }
    var announced = readable
    for fetch in fetches.values {
      let end = min(fetch.announcedEnd ?? 0, fetch.range.upperBound)
      if end > fetch.position { announced.insert(contentsOf: fetch.position..<end) }
    }
    return announced.end(from: offset)
  }

  /// Whether this fetch has brought nothing to readers that wait for its bytes: another request at
  /// once would do no better.
  func endsInVain(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], !fetch.isConfirmation, !fetch.isCalledOff, fetch.brought == 0,
      !isOver
    else { return false }
    let others = fetches.all.filter { $0.key != id && $0.value.bringsBytes }.map(\.value)
    return isAwaited(fetch, beside: others)
  }

  /// Whether a further response could continue where this one broke off. If it begins at the first
  /// byte, and nothing confirms that it is the same, it is compared with what is stored.
  func canGoOn(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], fetch.isWhole, fetch.position > 0 else { return true }
    if isLive { return false }
    return !isUnrepeatable || stored.byteCount(in: 0..<fetch.position) == fetch.position
  }

  mutating func fetchEnded(
    _ id: FetchID, error: MediaCacheError?, isForBackground: Bool = false
  ) {
    guard let fetch = fetches.remove(id) else { return }
    if let error {
      let failed = readers.waits.filter { wait in
        if error.isPersonal, !wait.reader.terms.passesOnErrors { return false }
        if fetch.isConfirmation { return wait.reader.awaitsConfirmation }
        if isForBackground, !wait.reader.isBackground { return false }
        guard let offset = wait.offset else { return info == nil }
        return !wait.reader.awaitsConfirmation && fetch.ahead.contains(offset)
      }
      wake(failed, with: error)
      let waiting = readers.waiting
      for (id, reader) in readers.all where !waiting.contains(id) {
        // It must not be taken for one that reads on.
        if isForBackground, reader.isBackground { readers[id]?.activity = .resting }
        let isIdle = reader.fillsWhole && !reader.isActive
        if info == nil, error.status != nil, isIdle { readers[id]?.missed = error }
      }
    }
    plan()
  }
}
