// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import RefrainLocks

/// The bytes of a resource under one validator: holds the state, and carries out its actions.
final class Generation: Sendable {
  let entry: Entry
  private let state: CountedMutex<GenerationState>

  init(entry: Entry, state: GenerationState) {
    self.entry = entry
    self.state = CountedMutex(state)
  }

  #if DEBUG
    var lockCount: Int { state.count }
  #endif

  /// Reads or changes the state, then carries out the actions that follow. `body` must only compute.
  func withState<Result: Sendable>(_ body: (inout GenerationState) -> Result) -> Result {
    let (result, actions) = state.withLock { state in (body(&state), state.takeActions()) }
    carryOut(actions)
    return result
  }

  /// Not inlined: in a function that waits, what this needs would stay in the memory of its task.
  @inline(never)
  func carryOut(_ actions: [GenerationState.Action]) {
    for action in actions {
      switch action {
      case .startFetch(let id, let range): start(id, range)
      case .cancel(let task): task.cancel()
      case .wake(let wakes, let error):
        for wake in wakes { wake(error.map { .failure($0) } ?? .success(())) }
      case .watchAbandoned: Task { await watchAbandoned() }
      }
    }
  }

  /// Reads the cache's setting under the lock, so that the last of several calls agrees with it.
  func followOffline() {
    let origin = entry.origin
    withState { $0.setOffline(origin.isOffline) }
  }

  var isRemoved: Bool { withState(\.file)?.isUnlinked == true }

  private func watchAbandoned() async {
    repeat {
      // Nothing cancels this task, so `sleep` cannot throw.
      try? await Task.sleep(for: entry.starter.abandonedSilence)
    } while withState { $0.releaseStalled() }
  }

  private func start(_ id: FetchID, _ range: ByteRange) {
    entry.beginTask()
    // Under the lock, so that the fetch has its task before it can move to another generation.
    let late = withState { state -> Task<Void, Never>? in
      let task = Task(executorPreference: IOThreads.shared) {
        await self.entry.starter.run(self, id, range)
        self.entry.endTask()
      }
      state.fetches[id]?.task = task
      return state.isOver || state.isOffline ? task : nil
    }
    late?.cancel()
  }

  func leave(_ id: ReaderID) { withState { $0.detach(id) } }

  /// Waits until the reader should look again at `offset`, or for the content information (nil).
  func wait(_ reader: ReaderID, at offset: Int64?) async throws {
    let id = withState { $0.makeID() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation {
        (continuation: CheckedContinuation<Void, any Error>) in
        // No request is made for a reader that has left already.
        if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
        register(id, reader, offset) { continuation.resume(with: $0) }
        if Task.isCancelled { withState { $0.cancelWaiter(id) } }
      }
    } onCancel: {
      withState { $0.cancelWaiter(id) }
    }
  }

  /// Like `wait`, but blocks the thread, which must be the caller's own, and none of those that run
  /// tasks: whoever ends the wait needs them.
  func waitBlocking(_ reader: ReaderID, at offset: Int64?) throws {
    let id = withState { $0.makeID() }
    // No lock: it is written once, before the signal, and read after it, which orders both.
    nonisolated(unsafe) var outcome: Result<Void, any Error> = .success(())
    let hasOutcome = DispatchSemaphore(value: 0)
    register(id, reader, offset) { result in
      outcome = result
      hasOutcome.signal()
    }
    hasOutcome.wait()
    try outcome.get()
  }

  private func register(
    _ id: WaiterID, _ reader: ReaderID, _ offset: Int64?, _ wake: @escaping GenerationState.Wake
  ) {
    let waiter = GenerationState.Waiter(reader: reader, offset: offset, wake: wake)
    if let outcome = withState({ $0.wait(id, waiter) }) { wake(outcome) }
  }

  func waitUntilWanted(_ id: FetchID) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isPaused = withState { state in
          !Task.isCancelled && state.pause(id) { _ in continuation.resume() }
        }
        if !isPaused { continuation.resume() }
      }
    } onCancel: {
      withState { $0.resume(id) }
    }
  }

  /// Like `StoredBytes.lose`, for a file that was read and may no longer be this generation's.
  func lose(_ range: ByteRange, of file: EntryFile) {
    let size = (try? file.status())?.size
    withState { if $0.file === file { $0.storage.lose(range, size: size) } }
  }
}

extension Generation {
  /// Examines the bytes of a resource that may be a document (`DocumentRules`) once all are stored:
  /// the update interval that it states bounds how long it is used without asking. Blocks on the
  /// disk. `given` is the length of the resource if the state does not have it yet; `written`, a
  /// range that is not readable yet: a reader that is given the last bytes before their pace is
  /// known could use the document for too long.
  func learnPace(length given: Int64? = nil, with written: (ByteRange, EntryFile)? = nil) {
    let complete = withState { state -> (any DocumentRules, EntryFile, Int64)? in
      guard let rules = state.representation.documents, let file = state.file,
        let length = given ?? state.length,
        state.representation.mayBeUnreadDocument(ofLength: length),
        written == nil || written?.1 === file
      else { return nil }
      var stored = state.stored
      if let (range, _) = written { stored.insert(contentsOf: range) }
      return stored.end(from: 0) >= length ? (rules, file, length) : nil
    }
    guard let (rules, file, length) = complete else { return }
    // Nil if the bytes are not there or cannot be read, which their next reader reports.
    func read(_ count: Int64) -> Data? {
      (try? file.beginning(Int(count))).flatMap { $0.count == count ? Data($0) : nil }
    }
    guard let beginning = read(min(length, Int64(documentBeginning))) else { return }
    var isUnreadable = false
    let pace = rules.pace(at: entry.resource.url, beginning: beginning) {
      let body = read(length)
      isUnreadable = body == nil
      return body
    }
    if isUnreadable { return }
    withState { state in
      // Its name says document, but its bytes do not.
      let isNamed = state.freshness?.pace == .unread
      guard let pace = pace ?? (isNamed ? .unstated : nil) else { return }
      state.representation.freshness?.pace = pace
      state.storage.noteRecordStale()
    }
  }
}

/// A lock that is taken for every chunk and every read. A debug build counts how often, for a test.
struct CountedMutex<Value: Sendable>: ~Copyable, Sendable {
  private let mutex: Mutex<Value>
  #if DEBUG
    private let taken = Atomic(0)
    var count: Int { taken.load(ordering: .relaxed) }
  #endif

  init(_ value: Value) { mutex = Mutex(value) }

  func withLock<Result: Sendable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    #if DEBUG
      taken.add(1, ordering: .relaxed)
    #endif
    return try mutex.withLock { value throws(Failure) in try body(&value) }
  }
}
