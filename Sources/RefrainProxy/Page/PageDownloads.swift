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
  }

  private struct State {
    var items: [CacheKey: Item] = [:]
    /// Those that run or wait, the first one first.
    var order: [CacheKey] = []
    /// With the number of the run: a paused one may run again before its task ends.
    var tasks: [CacheKey: (run: UInt64, task: Task<Void, Never>)] = [:]
    var runs: UInt64 = 0
    var isOver = false

    /// Ends a run. Its place is free.
    mutating func release(_ key: CacheKey) {
      order.removeAll { $0 == key }
      tasks.removeValue(forKey: key)?.task.cancel()
    }
  }

  /// The downloads that run at a time.
  static let width = 2
  /// The most downloads, paused and failed ones included.
  static let most = 1000

  private let cache: MediaCache
  private let resource: @Sendable (URL) -> Resource
  private let state = Mutex(State())

  /// - Parameter resource: returns the resource by which a URL is requested, with the filter of its
  ///   redirects.
  init(cache: MediaCache, resource: @Sendable @escaping (URL) -> Resource) {
    (self.cache, self.resource) = (cache, resource)
  }

  /// By the keys of their resources.
  var items: [CacheKey: Item] { state.withLock(\.items) }

  /// Fetches a URL as soon as there is a place. A paused or failed download goes on; one that is to
  /// be pinned from now on begins once more, and finds its bytes stored.
  ///
  /// - Returns: false if there are too many.
  func add(_ url: URL, isPinned: Bool) -> Bool {
    let key = cache.key(for: Resource(url: url))
    return state.withLock { state in
      let known = state.items[key]
      guard known != nil || state.items.count < Self.most else { return false }
      let isPinned = isPinned || known?.isPinned == true
      let isUnderWay = known?.state == .running || known?.state == .waiting
      guard !isUnderWay || known?.isPinned != isPinned else { return true }
      state.release(key)
      state.items[key] = Item(url: url.absoluteString, isPinned: isPinned)
      state.order.append(key)
      begin(&state)
      return true
    }
  }

  /// - Returns: false if there is nothing to pause.
  func pause(_ key: CacheKey) -> Bool {
    state.withLock { state in
      guard let item = state.items[key], item.state == .running || item.state == .waiting else {
        return false
      }
      state.items[key]?.state = .paused
      state.release(key)
      begin(&state)
      return true
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
    for key in state.order.prefix(Self.width) where state.tasks[key] == nil {
      guard let item = state.items[key] else { continue }
      state.runs += 1
      let run = state.runs
      state.items[key]?.state = .running
      state.tasks[key] = (run, Task { await fetch(item, key, run) })
    }
  }

  private func fetch(_ item: Item, _ key: CacheKey, _ run: UInt64) async {
    do {
      try await fetch(item) { total in
        change(key, run) { $0.items[key]?.total = total }
      }
      change(key, run) { $0.items[key] = nil }
    } catch {
      // One that was paused or cancelled is none of this run's any more.
      change(key, run) { state in
        state.items[key]?.state = .failed
        state.items[key]?.error = "\(error)"
      }
    }
    change(key, run) { state in
      state.release(key)
      begin(&state)
    }
  }

  /// Changes the state if the run is still that of the download.
  private func change(_ key: CacheKey, _ run: UInt64, _ change: (inout State) -> Void) {
    state.withLock { state in
      if state.tasks[key]?.run == run { change(&state) }
    }
  }

  private func fetch(_ item: Item, estimated: (Int64?) -> Void) async throws {
    guard let url = URL(string: item.url) else {
      throw MediaCacheError(.badURL, "\(item.url) is not a URL.", remedy: "Enter it again.")
    }
    let download = StreamDownload(resource(url), into: cache, isPinned: item.isPinned)
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
      return state.tasks.values.map(\.task)
    }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }
}
