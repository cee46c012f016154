// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Runs the downloads of the page's queue.
final class PageDownloads: Sendable {
  private struct State {
    var queue = DownloadQueue()
    /// By identifier, with the number of the run: a paused one may run again before its task ends.
    var tasks: [UInt64: (task: Task<Void, Never>, run: UInt64)] = [:]
    var runs: UInt64 = 0
    /// Changes with the queue, but not with the progress of its downloads.
    var revision: UInt64 = 0
    var isOver = false
  }

  private let cache: MediaCache
  private let resource: @Sendable (URL) -> Resource
  private let state = Mutex(State())

  /// - Parameter resource: returns the resource by which a URL is requested, with the filter of its
  ///   redirects.
  init(cache: MediaCache, resource: @Sendable @escaping (URL) -> Resource) {
    (self.cache, self.resource) = (cache, resource)
  }

  var items: [DownloadQueue.Item] { state.withLock(\.queue.items) }

  /// The queue for a file, with a number that changes with it, but not with the progress alone.
  var saved: (revision: UInt64, items: [DownloadQueue.Saved]) {
    state.withLock { ($0.revision, $0.queue.saved) }
  }

  /// Changes the queue, and begins what may run now.
  @discardableResult
  func change<Result: Sendable>(_ body: (inout DownloadQueue) -> Result) -> Result {
    let (result, cancelled) = state.withLock { state in
      let result = body(&state.queue)
      state.revision += 1
      var cancelled: [Task<Void, Never>] = []
      for (id, running) in state.tasks where state.queue[id]?.state != .running {
        cancelled.append(running.task)
        state.tasks[id] = nil
      }
      begin(&state)
      return (result, cancelled)
    }
    for task in cancelled { task.cancel() }
    return result
  }

  private func begin(_ state: inout State) {
    guard !state.isOver else { return }
    for item in state.queue.begin() {
      state.runs += 1
      let number = state.runs
      let task = Task { await run(item, number) }
      state.tasks[item.id] = (task, number)
    }
  }

  private func run(_ item: DownloadQueue.Item, _ number: UInt64) async {
    var failure: String?
    do {
      guard let url = URL(string: item.url) else {
        throw MediaCacheError(.badURL, "\(item.url) is not a URL.", remedy: "Enter it again.")
      }
      try await fetch(url, item, number)
    } catch let error as MediaCacheError {
      failure = error.description
    } catch is CancellationError {
      return ended(item.id, number) { _ in }
    } catch {
      failure = "\(error)"
    }
    // Whatever failed in a download that was stopped did so because of that.
    if failure != nil, Task.isCancelled { return ended(item.id, number) { _ in } }
    let error = failure
    ended(item.id, number) { $0.end(item.id, error: error) }
  }

  private func ended(
    _ id: UInt64, _ number: UInt64, _ change: (inout DownloadQueue) -> Void
  ) {
    state.withLock { state in
      guard state.tasks[id]?.run == number else { return }
      state.tasks[id] = nil
      change(&state.queue)
      state.revision += 1
      begin(&state)
    }
  }

  private func note(_ id: UInt64, _ number: UInt64, _ stored: Int64, _ total: Int64?) {
    state.withLock { state in
      guard state.tasks[id]?.run == number else { return }
      state.queue.note(id, stored: stored, total: total)
    }
  }

  private func fetch(_ url: URL, _ item: DownloadQueue.Item, _ number: UInt64) async throws {
    let resource = resource(url)
    let download = StreamDownload(resource, into: cache, isPinned: item.isPinned)
    let information = try await download.bringFirst { [self] progress in
      note(item.id, number, progress.storedBytes, progress.totalBytes)
    }
    guard await download.mayBeStream(information) else { return }
    guard let source = try await download.source() else { return }
    let selection = try await download.select(StreamChoice(), of: source)
    var reports = StreamDownload.Reports()
    reports.progress = { [self] progress in
      note(
        item.id, number, progress.storedBytes,
        progress.isComplete ? progress.storedBytes : selection.estimatedBytes)
    }
    try await download.run(selection, reports: reports)
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
