// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Keeps the rows of the page up to date while somebody looks at it: polls the open entries four
/// times a second, and looks at others when an event names them.
final class PageFeed: Sendable {
  /// The time between two updates.
  static let pace: Duration = .milliseconds(250)
  /// The time between two looks at the whole directory, which other programs may change: at least
  /// this, and so long that a look takes a fiftieth of it.
  private static let longPace: Duration = .seconds(20)
  private static let longShare = 50
  /// The most entries looked at in one update.
  private static let mostLooks = 200
  struct Rates: Sendable, Hashable {
    /// Bytes per second from origins.
    var received: Int64 = 0
    /// Bytes per second to clients.
    var sent: Int64 = 0
    var limit: Int64?
    var disk: Int64 = 0
    var isOffline = false
  }

  private struct State {
    var model = PageModel()
    var visitors = 0
    var collector: Task<Void, Never>?
    var isReady = false
    var failure: String?
    /// Entries to look at.
    var pending: Set<CacheKey> = []
    /// The entries that were open with the last update.
    var open: Set<CacheKey> = []
    /// Whether the whole directory is being looked at, and the entries that changed meanwhile.
    var isLooking = false
    var changedMeanwhile: Set<CacheKey> = []
    var nextLook = ContinuousClock.now
    var rates = Rates()
  }

  private let cache: MediaCache
  private let traffic: PageTraffic
  private let problems: PageProblemLog
  /// Returns the bytes that were received beside the cache so far.
  private let relayed: @Sendable () -> Int64
  private let state = Mutex(State())

  init(
    cache: MediaCache, traffic: PageTraffic, problems: PageProblemLog,
    relayed: @Sendable @escaping () -> Int64
  ) {
    self.cache = cache
    self.traffic = traffic
    self.problems = problems
    self.relayed = relayed
  }

  // MARK: Visitors

  /// Counts a visitor. Balanced by `leave`.
  func enter() {
    state.withLock { state in
      state.visitors += 1
      guard state.collector == nil else { return }
      // Sorting the rows of a large cache takes long, too.
      state.collector = Task(executorPreference: IOThreads.background) { await self.collect() }
    }
  }

  func leave() { state.withLock { $0.visitors -= 1 } }

  /// The number of visitors now.
  var visitors: Int { state.withLock(\.visitors) }

  /// Whether the directory has been looked at, or why it could not be.
  var readiness: (isReady: Bool, failure: String?) {
    state.withLock { ($0.isReady, $0.failure) }
  }

  func difference(since version: UInt64) -> PageModel.Difference? {
    state.withLock { $0.model }.difference(since: version)
  }

  func keys(ofRow key: CacheKey) -> [CacheKey] { state.withLock { $0.model.keys(ofRow: key) } }

  /// The rates of the last update. The rest is as it is now, also before the first update.
  var rates: Rates {
    var rates = state.withLock { state in
      var rates = state.rates
      rates.disk = state.model.disk
      return rates
    }
    (rates.limit, rates.isOffline) = (cache.limit, cache.isOffline)
    return rates
  }

  /// Looks at an entry with the next update, after a change that no event reports.
  func look(at keys: [CacheKey]) {
    state.withLock { state in
      state.pending.formUnion(keys)
      if state.isLooking { state.changedMeanwhile.formUnion(keys) }
    }
  }

  func stop() async {
    let task = state.withLock { state in
      state.visitors = 0
      return state.collector
    }
    task?.cancel()
    await task?.value
  }

  // MARK: Strips of streams

  /// Returns streams whose strips are to be drawn again, the most recently used first.
  func takeOutdatedStreams(_ most: Int) -> [CacheKey] {
    state.withLock { $0.model.takeOutdated(most) }
  }

  /// As `PageModel.marks`.
  func marks(of keys: [CacheKey]) -> [PagePlan.Mark?] {
    state.withLock { $0.model.marks(of: keys) }
  }

  /// As `PageModel.draw`.
  @discardableResult
  func draw(_ plan: PagePlan, of key: CacheKey) -> Bool {
    state.withLock { $0.model.draw(plan, of: key) }
  }

  // MARK: Collecting

  private func collect() async {
    let events = cache.laterEvents()
    let listener = Task { [weak self] in
      for await event in events { self?.note(event) }
    }
    // Reading playlists takes long.
    let strips = Task(executorPreference: IOThreads.background) {
      await PageStrips(cache: self.cache, feed: self).follow()
    }
    defer {
      listener.cancel()
      strips.cancel()
    }
    var counts = Counts()
    var look: Task<Void, Never>?
    while !Task.isCancelled {
      if mayLookAtAll() {
        look = Task(executorPreference: IOThreads.background) { await self.lookAtAll() }
      }
      await update(&counts)
      // Nobody may come while the last look ends.
      if visitors <= 0 {
        await look?.value
        if endIfUnused() { return }
      }
      // Cancelled, it ends with the next round.
      try? await Task.sleep(for: Self.pace)
    }
    await look?.value
    strips.cancel()
    await strips.value
    state.withLock { $0.collector = nil }
  }

  /// Forgets everything if there are no visitors. Returns whether it did.
  private func endIfUnused() -> Bool {
    state.withLock { state in
      guard state.visitors <= 0 else { return false }
      state = State()
      return true
    }
  }

  private func mayLookAtAll() -> Bool {
    state.withLock { state in
      guard !state.isLooking, ContinuousClock.now >= state.nextLook else { return false }
      state.isLooking = true
      return true
    }
  }

  /// The bytes counted with the last update.
  private struct Counts {
    var time = ContinuousClock.now
    var received: [CacheKey: Int64] = [:]
    /// The entries that were open.
    var active: Set<CacheKey> = []
    var sent: Int64?
    var relayed: Int64 = 0
  }

  private func note(_ event: CacheEvent) {
    switch event {
    case .opened(let key), .evicted(let key, _), .generationChanged(let key): look(at: [key])
    case .fetchStarted, .fetchFinished, .retrying, .received, .servedFromDisk, .committed,
      .streamTitle, .failed, .warning:
      break
    }
  }

  /// The updates go on meanwhile: in a large directory it takes seconds.
  private func lookAtAll() async {
    let begun = ContinuousClock.now
    defer {
      let end = ContinuousClock.now
      state.withLock { state in
        // What changed since may be older in what was found.
        state.pending.formUnion(state.changedMeanwhile)
        (state.isLooking, state.changedMeanwhile) = (false, [])
        state.nextLook = end + max(Self.longPace, (end - begun) * Self.longShare)
      }
    }
    do {
      let entries = try await cache.entries()
      state.withLock { state in
        let all = entries.map { summary in
          state.model[summary.key]?.adopting(summary) ?? PageEntry(summary)
        }
        // An entry that was opened just now may not be recorded yet.
        let newer = state.open.union(state.changedMeanwhile).subtracting(all.map(\.key))
        state.model.replaceAll(with: all + newer.compactMap { state.model[$0] })
        (state.isReady, state.failure) = (true, nil)
      }
      problems.noteLooked()
    } catch {
      noteFailure(error)
    }
  }

  private func update(_ counts: inout Counts) async {
    await lookAtPending()
    let now = ContinuousClock.now
    let seconds = max((now - counts.time) / .seconds(1), 0.001)
    let activity = cache.activity()
    var received: [CacheKey: Int64] = [:]
    var changed: [PageEntry] = []
    var total: Int64 = 0
    let isFirst = counts.sent == nil
    let time = Int64(cache.now.wall.timeIntervalSince1970)
    let (sent, relayed) = (traffic.sent, self.relayed())
    if !isFirst { total += relayed - counts.relayed }
    let before = counts
    let (known, closed) = state.withLock { state in
      let open = Set(activity.map(\.key))
      let keys = open.union(before.active)
      let entries = keys.compactMap { state.model[$0] }
      return (
        Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0) }),
        before.active.subtracting(open)
      )
    }
    var active: Set<CacheKey> = []
    for open in activity {
      received[open.key] = open.received
      let earlier = counts.received[open.key] ?? (isFirst ? open.received : 0)
      // A reopened entry counts from zero.
      let count = open.received >= earlier ? open.received - earlier : open.received
      total += count
      var entry = known[open.key] ?? PageEntry(open, used: time)
      // Nothing is shown of what may never be stored.
      if known[open.key] == nil, open.spans.isEmpty, open.fetching.isEmpty { continue }
      entry.update(open, rate: Int64(Double(count) / seconds))
      if !open.readers.isEmpty, time - entry.used >= 60 { entry.used = time }
      changed.append(entry)
      active.insert(open.key)
    }
    for key in closed {
      guard var entry = known[key] else { continue }
      entry.rest()
      changed.append(entry)
    }
    let rates = Rates(
      received: Int64(Double(total) / seconds),
      sent: counts.sent.map { Int64(Double(sent - $0) / seconds) } ?? 0)
    let (rows, open) = (changed, active)
    let closedNow = Set(counts.received.keys).subtracting(received.keys)
    state.withLock { state in
      state.model.apply(rows)
      state.open = open
      state.rates = rates
      // The record of a closed entry has its final size.
      state.pending.formUnion(closedNow)
      if state.isLooking { state.changedMeanwhile.formUnion(closedNow) }
    }
    counts = Counts(
      time: now, received: received, active: active, sent: sent, relayed: relayed)
  }

  private func noteFailure(_ error: any Error) {
    if error is CancellationError { return }
    let isReady = state.withLock { state in
      state.failure = "\(error)"
      return state.isReady
    }
    // Before, it is why there is no page.
    if isReady { problems.addLook("\(error)") }
  }

  private func lookAtPending() async {
    let keys = state.withLock { state in
      let keys = Array(state.pending.prefix(Self.mostLooks))
      state.pending.subtract(keys)
      return keys
    }
    var found: [EntrySummary] = []
    var missing: [CacheKey] = []
    for key in keys {
      if Task.isCancelled { return }
      do {
        if let summary = try await cache.entry(for: key) {
          found.append(summary)
        } else {
          missing.append(key)
        }
      } catch {
        noteFailure(error)
      }
    }
    let (summaries, gone) = (found, missing)
    guard !summaries.isEmpty || !gone.isEmpty else { return }
    state.withLock { state in
      let entries = summaries.map { state.model[$0.key]?.adopting($0) ?? PageEntry($0) }
      state.model.apply(entries, removing: gone)
    }
  }
}
