// SPDX-License-Identifier: MIT
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

  /// The figures of the whole cache and its proxy.
  struct Figures: Sendable, Hashable, Encodable {
    /// In bytes.
    var disk: Int64
    /// In bytes; nil: none.
    var limit: Int64?
    /// Bytes per second from origins.
    var received: Int64
    /// Bytes per second to clients.
    var sent: Int64
    var isOffline: Bool
    /// Since the proxy was created, as are the others below.
    var requests: Int64
    /// Requests served without a body from the origin.
    var hits: Int64
    /// The bytes sent to clients that were stored before their request.
    var saved: Int64
    /// Why the directory could not be read, with the remedy.
    var problem: String?
  }

  private struct State {
    var model = PageModel()
    /// In bytes per second.
    var rates: (received: Int64, sent: Int64) = (0, 0)
    var isReady = false
    /// Why the directory could not be read.
    var problem: String?
    /// Entries to look at.
    var pending: Set<CacheKey> = []
    /// Those that have changed since the last look at the whole directory began.
    var recent: Set<CacheKey> = []
    /// The rows that have changed since each follower was sent some.
    var news: [UInt64: Set<CacheKey>] = [:]
    var nextFollower: UInt64 = 0

    mutating func update() {
      let changed = model.update()
      for follower in news.keys { news[follower]?.formUnion(changed) }
    }

    mutating func look(at keys: some Sequence<CacheKey>) {
      pending.formUnion(keys)
      recent.formUnion(keys)
    }
  }

  private let cache: MediaCache
  private let traffic: Traffic
  private let downloads: PageDownloads
  private let state = Mutex(State())

  init(cache: MediaCache, traffic: Traffic, downloads: PageDownloads) {
    (self.cache, self.traffic, self.downloads) = (cache, traffic, downloads)
  }

  // MARK: Reading

  /// Returns when the directory has been looked at.
  func waitUntilReady() async throws {
    while true {
      let (isReady, problem) = state.withLock { ($0.isReady, $0.problem) }
      if isReady { return }
      if let problem { throw HTTPError(503, problem) }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  var rows: [PageRow] { state.withLock { Array($0.model.rows.values) } }

  var figures: Figures {
    let values = traffic.values
    return state.withLock { state in
      Figures(
        disk: state.model.rows.values.reduce(0) { $0 + $1.disk }, limit: cache.limit,
        received: state.rates.received, sent: state.rates.sent, isOffline: cache.isOffline,
        requests: values.requests.reduce(0, +), hits: values.hits, saved: values.savedBytes,
        problem: state.problem)
    }
  }

  func keys(ofRow key: CacheKey) -> [CacheKey] { state.withLock { $0.model.keys(ofRow: key) } }

  /// Looks at entries with the next update, after a change that no event reports.
  func look(at keys: [CacheKey]) { state.withLock { $0.look(at: keys) } }

  /// Begins to gather what changes. However slow the follower is, a row waits for it at most once.
  ///
  /// - Returns: for `news(for:)`, until `leave(_:)`.
  func follow() -> UInt64 {
    state.withLock { state in
      state.nextFollower += 1
      state.news[state.nextFollower] = []
      return state.nextFollower
    }
  }

  func leave(_ follower: UInt64) { state.withLock { $0.news[follower] = nil } }

  /// Returns the rows that have changed since the last call, and the keys of those that have gone.
  func news(for follower: UInt64) -> (rows: [PageRow], removed: [CacheKey]) {
    state.withLock { state in
      let keys = state.news[follower] ?? []
      state.news[follower] = []
      return (keys.compactMap { state.model.rows[$0] }, keys.filter { state.model.rows[$0] == nil })
    }
  }

  // MARK: Collecting

  /// Collects until the task is cancelled.
  func collect() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.followEvents() }
      group.addTask { await self.followDirectory() }
      group.addTask { await self.followActivity() }
    }
  }

  private func followEvents() async {
    for await event in cache.laterEvents() {
      switch event {
      case .opened(let key), .evicted(let key, _), .generationChanged(let key): look(at: [key])
      case .fetchStarted, .fetchFinished, .retrying, .received, .servedFromDisk, .committed,
        .streamTitle, .failed, .warning:
        break
      }
    }
  }

  private func followDirectory() async {
    var pause = Duration.zero
    while await Self.sleep(pause) {
      let begun = ContinuousClock.now
      state.withLock { $0.recent = [] }
      do {
        let entries = try await cache.entries()
        state.withLock { state in
          // What has changed meanwhile may be older in what was found.
          state.pending.formUnion(state.model.storeAll(entries).union(state.recent))
          state.update()
          state.isReady = true
        }
        note(nil)
      } catch {
        note(error)
      }
      pause = max(Self.longPace, (ContinuousClock.now - begun) * Self.longShare)
    }
  }

  private func note(_ problem: (any Error)?) {
    if problem is CancellationError { return }
    state.withLock { $0.problem = problem.map { "\($0)" } }
  }

  /// Returns whether the task goes on.
  private static func sleep(_ duration: Duration) async -> Bool {
    (try? await Task.sleep(for: duration)) != nil
  }

  private func followActivity() async {
    var counts = Counts(received: [:], relayed: traffic.values.relayedBytes, sent: traffic.sent)
    for entry in cache.activity() { counts.received[entry.key] = entry.received }
    repeat {
      await lookAtPending()
      update(&counts)
    } while await Self.sleep(Self.pace)
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
      do {
        if let summary = try await cache.entry(for: key) {
          found.append(summary)
        } else {
          missing.append(key)
        }
      } catch {
        note(error)
      }
    }
    let (summaries, gone) = (found, missing)
    state.withLock { $0.model.store(summaries, missing: gone) }
  }

  /// The bytes counted with the last update.
  private struct Counts {
    var time = ContinuousClock.now
    /// From origins, by open entry.
    var received: [CacheKey: Int64]
    /// From origins, beside the cache.
    var relayed: Int64
    var sent: Int64
  }

  private func update(_ counts: inout Counts) {
    let (before, activities) = (counts, cache.activity())
    counts = Counts(received: [:], relayed: traffic.values.relayedBytes, sent: traffic.sent)
    let seconds = max((counts.time - before.time) / .seconds(1), 0.001)
    func rate(_ bytes: Int64) -> Int64 { Int64(Double(bytes) / seconds) }
    var rates: [CacheKey: Int64] = [:]
    var received = counts.relayed - before.relayed
    for activity in activities {
      counts.received[activity.key] = activity.received
      let earlier = before.received[activity.key] ?? 0
      // A reopened entry counts from zero.
      let count = activity.received - (earlier > activity.received ? 0 : earlier)
      rates[activity.key] = rate(count)
      received += count
    }
    let (all, ofEntries) = ((rate(received), rate(counts.sent - before.sent)), rates)
    let items = downloads.items
    state.withLock { state in
      state.rates = all
      state.look(at: state.model.follow(activities, rates: ofEntries))
      state.model.follow(items)
      state.update()
    }
  }
}
