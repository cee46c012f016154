// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// A resource's stored state while it is open: its current generation, and its holders.
final class Entry: Sendable {
  let key: CacheKey
  let events: EventStreams
  let starter: FetchStarter
  let storage: Store
  let requests: EntryRequests
  private let table: EntryTable
  /// Has a lock of its own: it is renewed under the lock of a generation, which is taken under that of
  /// `state`.
  private let policy: Mutex<RecordedPolicy>
  let state = Mutex(State())

  struct State {
    var current: Generation?
    /// Earlier live streams, handed responses and purged generations that still have readers.
    var earlier: [Generation] = []
    /// A new entry is held once.
    var readers = 1
    /// Those that must end before the entry can be closed.
    var tasks = 0
    /// Whether it ends even if readers still hold it.
    var isShutDown = false
    /// Whether its last record is written, or about to be.
    var isClosed = false
    var wholeReaders = 0
    var filler: Task<Void, Never>?
    /// Counts the fillers: an earlier one may end later.
    var fillerNumber = 0
  }

  /// Opens the entry stored under the key, or an empty one. Blocks.
  init(
    key: CacheKey, resource: Resource, starter: FetchStarter, evictor: Evictor,
    events: EventStreams, table: EntryTable
  ) {
    (self.key, self.starter, self.events, self.table) = (key, starter, events, table)
    storage = Store(
      key: key, resource: resource, evictor: evictor, events: events,
      isShared: starter.origin.isShared)
    evictor.budget.index.withLock { [name = storage.name] in $0.markOpen(name, key) }
    var policy = RecordedPolicy(key: key)
    policy.note(resource)
    let (loaded, found) = storage.load(starter.emptyState(of: resource))
    if let found { policy.adopt(found) }
    self.policy = Mutex(policy)
    requests = EntryRequests(resource, key: key, to: starter.origin, events: events)
    let generation = Generation(entry: self, state: loaded)
    // It was stored without rules, or its process has ended in between.
    if loaded.representation.freshness?.pace == .unread { generation.learnPace() }
    state.withLock { $0.current = generation }
    events.send(.opened(key))
  }

  var name: String { storage.name }
  var origin: Origin { starter.origin }
  var now: Moment { origin.now }
  var resource: Resource { requests.resource }
  var current: Generation? { state.withLock(\.current) }
  var isClosed: Bool { state.withLock(\.isClosed) }

  // MARK: Holding

  func tryHold() -> Bool {
    state.withLock { state in
      guard !state.isClosed else { return false }
      state.readers += 1
      return true
    }
  }

  /// Balances `tryHold`, and the initial hold.
  func release() { closeIfUnused { $0.readers -= 1 } }

  /// Returns false if the entry is closed already.
  @discardableResult
  func beginTask() -> Bool {
    state.withLock { state in
      state.tasks += 1
      return !state.isClosed
    }
  }

  func endTask() { closeIfUnused { $0.tasks -= 1 } }

  /// Syncs stored bytes after a delay, and again while more arrive. The wait does not prevent the
  /// entry from closing, which syncs it as well.
  func syncSoon(_ generation: Generation, after delay: Duration) {
    Task(executorPreference: IOThreads.background) { [self] in
      // Nothing cancels this task, so `sleep` cannot throw.
      try? await Task.sleep(for: delay)
      guard beginTask() else { return }
      let next = await storage.sync(generation)
      if let next { syncSoon(generation, after: next) }
      endTask()
    }
  }

  func shutDown() {
    state.withLock(\.filler)?.cancel()
    for generation in generations { generation.withState { $0.close() } }
    closeIfUnused { $0.isShutDown = true }
  }

  func followOffline() {
    for generation in generations { generation.followOffline() }
  }

  private var generations: [Generation] {
    state.withLock { $0.earlier + [$0.current].compactMap(\.self) }
  }

  func closeIfUnused(after change: (inout State) -> Void) {
    state.withLock { state in
      change(&state)
      state.earlier.removeAll { $0.withState { $0.readers.isEmpty && $0.fetches.isEmpty } }
      guard state.tasks == 0, state.readers == 0 || state.isShutDown, !state.isClosed,
        let last = state.current
      else { return }
      state.isClosed = true
      table.close(key) { [self] in
        // Nothing is stored from here on.
        last.withState { $0.close() }
        await storage.finish(last)
        self.state.withLock { ($0.current, $0.earlier) = (nil, []) }
      }
    }
  }

  // MARK: Generations

  /// Returns the current generation; a new one if that is a live stream whose start has passed.
  func generationForReader() -> Generation? {
    if let current, current.withState(\.hasPassedStart), state.withLock({ !$0.isShutDown }) {
      startAnew(after: current)
    }
    return current
  }

  func emptyState() -> GenerationState { starter.emptyState(of: resource) }

  /// The files of the new generation replace those of the last one.
  func emptyState(after last: Generation) -> GenerationState {
    var state = emptyState()
    state.storage.replaced = last.withState(\.storage.last)
    return state
  }

  /// Adopts the newest URL and headers given for the key, under the lock of the current generation.
  func renew(_ resource: Resource, _ state: inout GenerationState) {
    withPolicy { $0.note(resource) }
    requests.renew(resource)
    if mayIgnoreNoStore { state.storage.ignoreNoStore() }
  }

  /// Replaces a generation after the origin has sent other bytes; if under an unchanged validator
  /// (`isContradicted`), the stored ones can never be confirmed.
  func supersede(_ generation: Generation, isContradicted: Bool = false) {
    let next = Generation(entry: self, state: stateAfter(generation))
    guard replace(generation, with: next) else { return generation.withState { $0.supersede() } }
    superseded(generation, isContradicted: isContradicted)
  }

  func stateAfter(_ generation: Generation) -> GenerationState {
    let now = now.uptime
    var state = emptyState(after: generation)
    let (invalidatedAt, ranges, replacements) = generation.withState {
      ($0.representation.invalidatedAt, $0.fetches.ranges, $0.replacements(at: now))
    }
    if ranges == .refused { state.fetches.note(.refused) }
    // Other representations of the resource still have to be confirmed.
    state.representation.invalidatedAt = invalidatedAt
    state.representation.follow(replacements: replacements)
    if mayIgnoreNoStore { state.storage.ignoreNoStore() }
    return state
  }

  /// Makes `next` the current generation in place of `last`, whose readers continue if `keepsLast`;
  /// `body` runs before what fills `last` leaves it. Returns false if `last` is not the current one
  /// any more, or the entry is closed.
  func replace(
    _ last: Generation, with next: Generation, keepsLast: Bool = false, _ body: () -> Void = {}
  ) -> Bool {
    let (isReplaced, filler) = state.withLock { state -> (Bool, Task<Void, Never>?) in
      guard state.current === last, !state.isClosed else { return (false, nil) }
      if keepsLast { state.earlier.append(last) }
      state.current = next
      // It may wait for bytes of the generation before, which are not stored any more.
      let filler = state.filler.take()
      startFilling(&state)
      return (true, filler)
    }
    guard isReplaced else { return false }
    body()
    filler?.cancel()
    // The cache may have come online while `next` was made.
    next.followOffline()
    return true
  }

  /// As `replace`, by an empty generation if `next` is nil; the readers of `last` continue.
  @discardableResult
  func startAnew(after last: Generation, with next: GenerationState? = nil) -> Bool {
    replace(
      last, with: Generation(entry: self, state: next ?? emptyState(after: last)), keepsLast: true)
  }

  func superseded(_ generation: Generation, isContradicted: Bool = false) {
    generation.withState { $0.supersede() }
    events.send(.generationChanged(key))
    // The detected change overrides the freshness of the old version.
    beginTask()
    Task(executorPreference: IOThreads.background) { [self] in
      await storage.outdate(generation, isContradicted: isContradicted)
      endTask()
    }
  }

  /// Marks the entry as outdated after a request that may have changed it (RFC 9111 §4.4).
  func invalidate() {
    let now = now.wall
    current?.withState { state in
      state.representation.outdate(since: now)
      state.storage.noteRecordStale()
    }
  }

  /// Whether the newest reader wants the response stored although the origin forbids it.
  var mayIgnoreNoStore: Bool {
    resource.policy.group?.isKept == true && !storage.isShared
  }

  var group: String? { withPolicy(\.group) }

  func withPolicy<Result: Sendable>(_ body: (inout RecordedPolicy) -> Result) -> Result {
    policy.withLock { body(&$0) }
  }
}

/// The group of an entry, and how long it stays (`ResourcePolicy`), across its generations: the
/// newest that a reader gave, otherwise as recorded. The group is kept if a reader has none, or the
/// resource is the first of its group: a part that is opened by itself stays a part.
struct RecordedPolicy: Sendable {
  let key: CacheKey
  /// The key of the first resource of the group; nil if none is known.
  var group: String?
  /// The seconds for which the entry stays after its last use; nil: for as long as there is room.
  var keep: Int64?
  /// As marked on disk.
  var marked: Int64?

  mutating func adopt(_ record: EntryRecord) { group = group ?? record.group }

  mutating func adopt(_ contents: EntryDirectory.Contents) {
    adopt(contents.record)
    (keep, marked) = (contents.files.keep, contents.files.keep)
  }

  /// Notes a reader's policy when it opens: the record is often written after it has left.
  mutating func note(_ resource: Resource) {
    if let first = resource.policy.group?.first, first != key { group = first.rawValue }
    keep = resource.policy.keep.map { max(0, $0.components.seconds) }
  }
}
