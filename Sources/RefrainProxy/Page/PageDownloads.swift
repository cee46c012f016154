// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainStreams

/// The downloads that a person has asked for, until they are complete. Those of an ended program are
/// forgotten; their bytes stay.
final class PageDownloads: Sendable {
  struct Item: Sendable, Hashable, Encodable {
    enum State: String, Sendable, Encodable { case waiting, running, paused, failed }

    var url: String
    var isPinned: Bool
    var state = State.waiting
    /// The estimated size of a stream in bytes; nil while unknown.
    var total: Int64?
    /// With the remedy.
    var error: String?

    fileprivate var isUnderWay: Bool { state == .running || state == .waiting }
  }

  private struct State {
    var items: [CacheKey: Item] = [:]
    /// Those that run or wait, the first one first.
    var order: [(key: CacheKey, resource: Resource)] = []
    var tasks: [CacheKey: Task<Void, Never>] = [:]
    var isOver = false

    /// Ends a run. Its place is free.
    mutating func release(_ key: CacheKey) {
      order.removeAll { $0.key == key }
      tasks.removeValue(forKey: key)?.cancel()
    }
  }

  /// The downloads that run at a time.
  static let width = 2
  /// The most downloads, paused and failed ones included.
  static let most = 1000
  static let unknown = HTTPError(404, "This is not being fetched any more.")

  private let cache: MediaCache
  private let state = Mutex(State())

  init(cache: MediaCache) { self.cache = cache }

  /// By the keys of their resources.
  var items: [CacheKey: Item] { state.withLock(\.items) }

  /// Fetches a resource as soon as there is a place. A paused or failed download goes on; one that is
  /// to be pinned from now on begins once more, and finds its bytes stored.
  ///
  /// - Throws: 409 if there are too many.
  func add(_ resource: Resource, isPinned: Bool) throws(HTTPError) {
    let key = cache.key(for: Resource(url: resource.url))
    try state.withLock { state throws(HTTPError) in
      let known = state.items[key]
      guard known != nil || state.items.count < Self.most else {
        throw HTTPError(409, "Too many downloads have not ended. Cancel some of them first.")
      }
      let isPinned = isPinned || known?.isPinned == true
      guard known?.isUnderWay != true || known?.isPinned != isPinned else { return }
      state.release(key)
      state.items[key] = Item(url: resource.url.absoluteString, isPinned: isPinned)
      state.order.append((key, resource))
      begin(&state)
    }
  }

  /// - Throws: 404 if there is no such download; 409 if it neither runs nor waits.
  func pause(_ key: CacheKey) throws(HTTPError) {
    try state.withLock { state throws(HTTPError) in
      guard let item = state.items[key] else { throw Self.unknown }
      guard item.isUnderWay else { throw HTTPError(409, "Only a running download pauses.") }
      state.items[key]?.state = .paused
      state.release(key)
      begin(&state)
    }
  }

  /// Forgets a download; its bytes stay.
  ///
  /// - Returns: false if there is none.
  @discardableResult
  func cancel(_ key: CacheKey) -> Bool {
    state.withLock { state in
      guard state.items.removeValue(forKey: key) != nil else { return false }
      state.release(key)
      begin(&state)
      return true
    }
  }

  private func begin(_ state: inout State) {
    guard !state.isOver else { return }
    for (key, resource) in state.order.prefix(Self.width) where state.tasks[key] == nil {
      guard let item = state.items[key] else { continue }
      state.items[key]?.state = .running
      state.tasks[key] = Task { await run(key, resource, isPinned: item.isPinned) }
    }
  }

  private func run(_ key: CacheKey, _ resource: Resource, isPinned: Bool) async {
    var error: String?
    do {
      try await fetch(resource, isPinned: isPinned) { total in
        change { $0.items[key]?.total = total }
      }
    } catch let failure {
      error = "\(failure)"
    }
    change { [error] state in
      if let error {
        state.items[key]?.state = .failed
        state.items[key]?.error = error
      } else {
        state.items[key] = nil
      }
      state.release(key)
      begin(&state)
    }
  }

  /// Changes the state, unless the download of this task was paused or cancelled.
  private func change(_ change: (inout State) -> Void) {
    state.withLock { if !Task.isCancelled { change(&$0) } }
  }

  private func fetch(
    _ resource: Resource, isPinned: Bool, estimated: (Int64?) -> Void
  ) async throws {
    let download = StreamDownload(resource, into: cache, isPinned: isPinned)
    let information = try await download.bringFirst()
    guard await download.mayBeStream(information), let source = try await download.source() else {
      return
    }
    let selection = try await download.select(StreamChoice(), of: source)
    estimated(selection.estimatedBytes)
    try await download.run(selection)
  }

  /// Ends all downloads; what they have fetched stays.
  func stop() async {
    let tasks = state.withLock { state in
      state.isOver = true
      return Array(state.tasks.values)
    }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }
}
