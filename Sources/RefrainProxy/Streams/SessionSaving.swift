// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Stores the sessions of streams in the background: new ones after some seconds, further changes
/// at most once a minute, as some origins change a cookie with each response; and all at the end.
final class SessionSaving: Sendable {
  private struct State {
    /// The newest one.
    var task: Task<Void, Never>?
    /// When the task begins to write; nil if it has begun.
    var due: ContinuousClock.Instant?
    /// The number of tasks so far.
    var count = 0
    var lastWrite: ContinuousClock.Instant?
    var isClosed = false
    /// Whether every change is stored at once.
    var isHurried = false
    /// Whether a failure was reported since the last success.
    var hasReported = false
  }

  private let store: SessionStore
  private let delay: Duration
  private let pause: Duration
  private let now: @Sendable () -> Date
  private let warn: @Sendable (String) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - delay: the time for which further changes are awaited.
  ///   - pause: the least time between two writes, unless a session is new.
  ///   - warn: receives problems, a sentence each.
  init(
    _ store: SessionStore, delay: Duration = .seconds(5), pause: Duration = .seconds(60),
    now: @escaping @Sendable () -> Date, warn: @escaping @Sendable (String) -> Void
  ) {
    self.store = store
    self.delay = delay
    self.pause = pause
    self.now = now
    self.warn = warn
  }

  /// Returns the stored sessions.
  func read(at now: Date) async -> SessionStore.Contents {
    let store = store
    let contents = await IOThreads.background.run { store.read(at: now) }
    if let problem = contents.problem {
      warn(
        "Sessions of streams could not be read from \(store.path) (\(problem)). Open a stream "
          + "again if it stops.")
    }
    return contents
  }

  /// Whether this cache has removed all private files since a session began.
  func isRemovedHere(since begun: Uptime) -> Bool { store.isRemovedHere(since: begun) }

  /// Returns the last removal of all private files by any process.
  func lastRemoval() async -> PrivateFiles.RemovalRecord? {
    let store = store
    return await IOThreads.background.run { store.lastRemoval() }
  }

  /// Stores the sessions soon.
  ///
  /// - Parameter isUrgent: whether one of them is new.
  func schedule(_ sessions: StreamSessions, isUrgent: Bool = false) {
    let now = ContinuousClock.now
    state.withLock { state in
      let soon = state.isHurried ? now : now + delay
      let next = isUrgent || state.isHurried ? nil : state.lastWrite.map { $0 + pause }
      let due = max(soon, next ?? soon)
      if state.isClosed { return }
      if let before = state.due {
        if before <= due { return }
        state.task?.cancel()
      }
      state.due = due
      state.count += 1
      state.task = Task { [self, number = state.count, before = state.task] in
        try? await Task.sleep(until: due, clock: .continuous)
        // One write at a time, and none after `close`.
        await before?.value
        let isCurrent = self.state.withLock { state in
          guard state.count == number, !state.isClosed else { return false }
          state.due = nil
          return true
        }
        if isCurrent { await write(sessions) }
      }
    }
  }

  /// Stores the sessions now, and every change at once from now on.
  func hurry(_ sessions: StreamSessions) {
    state.withLock { $0.isHurried = true }
    schedule(sessions, isUrgent: true)
  }

  /// Stores the sessions now, and never again.
  func close(with sessions: StreamSessions) async {
    let task = state.withLock { state in
      state.isClosed = true
      return state.task
    }
    task?.cancel()
    await task?.value
    await write(sessions)
  }

  /// Returns once the changes so far are stored.
  func settle() async { await state.withLock { $0.task }?.value }

  private func write(_ sessions: StreamSessions) async {
    let (store, now) = (store, now())
    state.withLock { $0.lastWrite = .now }
    let problem = await IOThreads.background.run { () -> String? in
      do {
        sessions.retire(try store.add(sessions.all, at: now))
        return nil
      } catch {
        return "\(error)"
      }
    }
    let isFirst = state.withLock { state in
      defer { state.hasReported = problem != nil }
      return !state.hasReported
    }
    guard let problem, isFirst else { return }
    warn(
      "The sessions of streams could not be stored in \(store.path) (\(problem)). Streams that "
        + "need them have to be opened again after a restart of the proxy.")
  }
}
