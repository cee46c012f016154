// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks
import RefrainProxy

/// What the page shows to one visitor: rows, and the figures above them.
struct PageFeed {
  struct Totals: Sendable, Hashable, Encodable {
    /// In bytes.
    var disk: Int64 = 0
    /// In bytes; nil: none.
    var limit: Int64?
    /// Bytes per second from origins.
    var received: Int64 = 0
    /// Bytes per second to clients.
    var sent: Int64 = 0
    var isOffline = false
    /// Since the proxy was created, as are the others below.
    var requests: Int64 = 0
    /// Served without a body from the origin.
    var hits: Int64 = 0
    /// Bytes that were stored before their request.
    var saved: Int64 = 0
    /// Why the directory could not be read, with the remedy.
    var problem: String?
  }

  private struct Moment {
    var time = ContinuousClock.now
    var activities: [CacheKey: EntryActivity]
    var traffic: Traffic.Values
    var sent: Int64

    init(_ proxy: ProxyService) {
      activities = Dictionary(proxy.cache.activity().map { ($0.key, $0) }) { _, last in last }
      (traffic, sent) = (proxy.traffic.values, proxy.traffic.sent)
    }
  }

  /// The time between two looks at the whole directory, which other programs may change.
  private static let longPace: Duration = .seconds(20)

  private(set) var figures = Totals()
  private(set) var rows: [CacheKey: PageRow] = [:]
  /// The entries of each row.
  private(set) var members: [CacheKey: [PageRow]] = [:]

  private let page: Page
  private var cache: MediaCache { page.proxy.cache }
  private var summaries: [CacheKey: EntrySummary] = [:]
  /// Each entry as a row of its own.
  private var entries: [CacheKey: PageRow] = [:]
  private var downloads: [CacheKey: PageDownloads.Item] = [:]
  private var moment: Moment
  private var nextLook = ContinuousClock.now
  /// `Page.changes` at the last look.
  private var changes: Int

  /// Throws `MediaCacheError`, `.storage` if the directory cannot be read, or `CancellationError`.
  init(_ page: Page) async throws {
    self.page = page
    (changes, moment) = (page.changes, Moment(page.proxy))
    try await lookAtDirectory()
    arrange(Set(summaries.keys), since: moment)
  }

  /// - Parameter touched: the entries that events have named since the last time.
  mutating func update(_ touched: Set<CacheKey>) async {
    let before = moment
    moment = Moment(page.proxy)
    let closed = Set(before.activities.keys).subtracting(moment.activities.keys)
    var due = touched.union(closed)
    do {
      for key in due { summaries[key] = try await cache.entry(for: key) }
      if changes != page.changes || .now >= nextLook {
        due.formUnion(summaries.keys)
        try await lookAtDirectory()
        due.formUnion(summaries.keys)
        figures.problem = nil
      }
    } catch {
      figures.problem = "\(error)"
    }
    arrange(due, since: before)
  }

  private mutating func lookAtDirectory() async throws {
    changes = page.changes
    defer { nextLook = .now + Self.longPace }
    let found = try await cache.entries()
    summaries = Dictionary(found.map { ($0.key, $0) }) { _, last in last }
  }

  /// - Parameter due: the entries that may have changed, besides those that are open.
  private mutating func arrange(_ due: Set<CacheKey>, since before: Moment) {
    let seconds = max((moment.time - before.time) / .seconds(1), 0.001)
    func rate(_ bytes: Int64) -> Int64 { Int64(Double(bytes) / seconds) }
    var received = moment.traffic.relayedBytes - before.traffic.relayedBytes
    let known = entries
    for key in due.union(moment.activities.keys) {
      let activity = moment.activities[key]
      let (now, earlier) = (activity?.received ?? 0, before.activities[key]?.received ?? 0)
      // A reopened entry counts from zero.
      let count = now < earlier ? now : now - earlier
      received += count
      entries[key] = PageRow(summaries[key], activity, rate: rate(count))
    }
    if entries != known || downloads != page.downloads.items {
      downloads = page.downloads.items
      members = PageRow.members(entries)
      rows = PageRow.rows(members, downloads)
      figures.disk = entries.values.reduce(0) { $0 + $1.disk }
    }
    (figures.limit, figures.isOffline) = (cache.limit, cache.isOffline)
    (figures.received, figures.sent) = (rate(received), rate(moment.sent - before.sent))
    figures.requests = moment.traffic.requests.reduce(0, +)
    (figures.hits, figures.saved) = (moment.traffic.hits, moment.traffic.savedBytes)
  }
}

/// The entries that the cache's events have named since the last `take()`.
final class TouchedEntries: Sendable {
  private let keys = Mutex<Set<CacheKey>>([])

  /// Returns when the task is cancelled.
  func follow(_ events: AsyncStream<CacheEvent>) async {
    for await event in events {
      switch event {
      case .opened(let key), .evicted(let key, _), .generationChanged(let key):
        keys.withLock { _ = $0.insert(key) }
      case .fetchStarted, .fetchFinished, .retrying, .received, .servedFromDisk, .committed,
        .streamTitle, .failed, .warning:
        break
      }
    }
  }

  func take() -> Set<CacheKey> {
    keys.withLock { keys in
      defer { keys = [] }
      return keys
    }
  }
}
