// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Keeps the last failures and warnings of a cache, whether or not somebody looks at the page. It
/// listens without the traffic: an event costs a busy cache next to nothing. May be called on any
/// thread.
final class PageProblemLog: Sendable {
  private struct State {
    var problems = PageProblems()
    var listener: Task<Void, Never>?
    var isOver = false
  }

  private let cache: MediaCache
  private let state = Mutex(State())

  init(_ cache: MediaCache) { self.cache = cache }

  deinit { state.withLock { $0.listener }?.cancel() }

  /// Listens from now on, until `stop`.
  func start() {
    state.withLock { state in
      guard state.listener == nil, !state.isOver else { return }
      let events = cache.laterEvents()
      state.listener = Task { [weak self] in
        for await event in events { self?.note(event) }
      }
    }
  }

  /// Ends listening. The problems stay.
  func stop() async {
    let listener = state.withLock { state in
      state.isOver = true
      return state.listener
    }
    listener?.cancel()
    await listener?.value
  }

  private func note(_ event: CacheEvent) {
    switch event {
    case .failed(let key, let error): add(error.description, of: key)
    case .warning(let text): add(text)
    case .opened, .evicted, .generationChanged, .fetchStarted, .fetchFinished, .retrying,
      .received, .servedFromDisk, .committed, .streamTitle:
      break
    }
  }

  private var time: Int64 { Int64(cache.now.wall.timeIntervalSince1970) }

  private func add(_ text: String, of key: CacheKey? = nil) {
    let time = time
    state.withLock { $0.problems.add(text, of: key, at: time) }
  }

  /// Adds a failure to look at the directory; one that repeats is added once.
  func addLook(_ text: String) {
    let time = time
    state.withLock { $0.problems.addLook(text, at: time) }
  }

  /// Records that the directory was looked at.
  func noteLooked() { state.withLock { $0.problems.noteLooked() } }

  /// Returns the problems after one, in order.
  func after(_ number: UInt64) -> [PageProblems.Problem] {
    state.withLock { $0.problems.after(number) }
  }
}
