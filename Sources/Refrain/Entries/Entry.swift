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
  /// The key of the first resource: the newest that a reader gave, otherwise as recorded. Renewed
  /// under the lock of a generation, which is taken under that of `state`.
  private let firstOfGroup: Mutex<String?>
  let state = Mutex(State())

  struct State {
    var current: Generation?
    /// Earlier live streams and purged generations that still have readers.
    var earlier: [Generation] = []
    /// A new entry is held once.
    var readers = 1
    /// Those that must end before the entry is closed.
    var tasks = 0
    /// Whether it is closed even if readers still hold it.
    var isShutDown = false
    var isClosed = false
  }

  /// Blocks.
  init(
    key: CacheKey, resource: Resource, starter: FetchStarter, evictor: Evictor,
    events: EventStreams, table: EntryTable
  ) {
    (self.key, self.starter, self.events, self.table) = (key, starter, events, table)
    storage = Store(
      key: key, resource: resource, evictor: evictor, events: events,
      isShared: starter.origin.isShared)
    evictor.budget.index.withLock { [name = storage.name] in $0.open[name] = key }
    let (loaded, found) = storage.load(starter.emptyState(of: resource))
    firstOfGroup = Mutex(found?.record.group)
    requests = EntryRequests(resource, key: key, to: starter.origin, events: events)
    let generation = Generation(entry: self, state: loaded)
    // Stored without rules, or by a process that ended in between.
    if loaded.representation.freshness?.pace == .unread { generation.learnPace() }
    state.withLock { $0.current = generation }
    if found == nil { joinGroup(of: resource) }
    events.send(.opened(key))
  }

  var name: String { storage.name }
  var origin: Origin { starter.origin }
  var now: Moment { origin.now }
  var resource: Resource { requests.resource }
  var current: Generation? { state.withLock(\.current) }
  var isClosed: Bool { state.withLock(\.isClosed) }
  /// Whether it closes once its own work has ended.
  var isUnread: Bool { state.withLock { $0.readers == 0 } }

  func tryHold() -> Bool {
    state.withLock { state in
      guard !state.isClosed else { return false }
      state.readers += 1
      return true
    }
  }

  func release() { closeIfUnused { $0.readers -= 1 } }

  /// False if the entry is closed already.
  @discardableResult
  func beginTask() -> Bool {
    state.withLock { state in
      state.tasks += 1
      return !state.isClosed
    }
  }

  func endTask() { closeIfUnused { $0.tasks -= 1 } }

  /// The wait does not keep the entry open.
  func syncSoon(_ generation: Generation, after delay: Duration) {
    Task(executorPreference: IOThreads.background) { [self] in
      // Nothing cancels this task, so `sleep` cannot throw.
      try? await Task.sleep(for: delay)
      guard beginTask() else { return }
      if let next = await storage.sync(generation) { syncSoon(generation, after: next) }
      endTask()
    }
  }

  func shutDown() {
    for generation in generations { generation.withState { $0.close() } }
    closeIfUnused { $0.isShutDown = true }
  }

  func followOffline() { for generation in generations { generation.followOffline() } }

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

  /// The current generation; a new one if that is a live stream whose start has passed.
  func generationForReader() -> Generation? {
    if let current, current.withState(\.hasPassedStart), state.withLock({ !$0.isShutDown }) {
      startAnew(after: current)
    }
    return current
  }

  /// Its files replace those of the last one, whose record is out of date.
  func emptyState(after last: Generation) -> GenerationState {
    var state = starter.emptyState(of: resource)
    state.storage.replaced = last.withState { $0.generationID ?? $0.storage.replaced }
    state.storage.noteRecordStale()
    return state
  }

  /// Adopts what the newest reader gave, under the lock of the current generation.
  func renew(_ resource: Resource, _ state: inout GenerationState) {
    // What a document names belongs to its group by its record.
    if joinGroup(of: resource), state.freshness?.pace != nil { state.storage.noteRecordStale() }
    requests.renew(resource)
    if mayIgnoreNoStore { state.storage.ignoreNoStore() }
  }

  /// After the origin has sent other bytes; `isContradicted`: under the same validator.
  func supersede(_ generation: Generation, isContradicted: Bool = false) {
    let next = Generation(entry: self, state: stateAfter(generation))
    guard replace(generation, with: next) else { return generation.withState { $0.supersede() } }
    superseded(generation, isContradicted: isContradicted)
  }

  func stateAfter(_ generation: Generation) -> GenerationState {
    let now = now.uptime
    var state = emptyState(after: generation)
    generation.withState { last in
      if last.fetches.ranges == .refused { state.fetches.note(.refused) }
      // Other representations of the resource still have to be confirmed.
      state.representation.invalidatedAt = last.representation.invalidatedAt
      state.representation.follow(replacements: last.replacements(at: now))
    }
    if mayIgnoreNoStore { state.storage.ignoreNoStore() }
    return state
  }

  /// Makes `next` the current generation in place of `last`, whose readers continue if `keepsLast`.
  /// False if another one is current.
  func replace(
    _ last: Generation, with next: Generation, keepsLast: Bool = false
  ) -> Bool {
    let isReplaced = state.withLock { state in
      guard state.current === last, !state.isClosed else { return false }
      if keepsLast { state.earlier.append(last) }
      state.current = next
      return true
    }
    guard isReplaced else { return false }
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
    guard isContradicted else { return }
    beginTask()
    Task(executorPreference: IOThreads.background) { [self] in
      await storage.removeContradicted(generation)
      endTask()
    }
  }

  /// After a request that may have changed the resource (RFC 9111 §4.4).
  func invalidate() {
    let now = now.wall
    current?.withState { state in
      state.representation.freshness?.isOutdated = true
      state.representation.invalidatedAt = now
      state.storage.noteRecordStale()
    }
  }

  /// Whether the newest reader wants the response stored although the origin forbids it.
  var mayIgnoreNoStore: Bool {
    resource.policy.group?.isKept == true && !storage.isShared
  }

  var group: String? { firstOfGroup.withLock(\.self) }

  /// Returns whether the group has changed. A part that is opened by itself stays one.
  @discardableResult
  private func joinGroup(of resource: Resource) -> Bool {
    guard let first = resource.policy.group?.first.rawValue, first != key.rawValue else {
      return false
    }
    return firstOfGroup.withLock { group in
      defer { group = first }
      return group != first
    }
  }
}
