// SPDX-License-Identifier: MIT
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

  /// Carries out the actions that `body` leaves, which must only compute.
  func withState<Result: Sendable>(_ body: (inout GenerationState) -> Result) -> Result {
    let (result, actions) = state.withLock { state in (body(&state), state.takeActions()) }
    carryOut(actions)
    return result
  }

  /// Not inlined: what this needs would stay in the memory of a task that waits.
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

  /// Reads the setting under the lock, so that the last of several calls agrees with it.
  func followOffline() { withState { $0.setOffline(entry.origin.isOffline) } }

  /// Whether somebody waits for bytes, or plays them.
  var hasPlayers: Bool { withState { $0.readers.values.contains { !$0.isBackground } } }

  var isRemoved: Bool { withState(\.file)?.isUnlinked == true }

  private func watchAbandoned() async {
    repeat {
      try? await Task.sleep(for: entry.starter.abandonedSilence)
    } while withState { $0.releaseStalled() }
  }

  private func start(_ id: FetchID, _ range: ByteRange) {
    entry.beginTask()
    // Under the lock, so that the fetch has its task before it can move to another generation.
    withState { state in
      let task = Task(executorPreference: IOThreads.shared) {
        await self.entry.starter.run(self, id, range)
        self.entry.endTask()
      }
      state.fetches[id]?.task = task
      if state.isOver || state.isOffline { task.cancel() }
    }
  }

  func leave(_ id: ReaderID) { withState { $0.detach(id) } }

  /// Waits until the reader should look again at `offset`, or for the content information (nil).
  func wait(_ reader: ReaderID, at offset: Int64?) async throws {
    let id = withState { $0.makeID() }
    try await suspend { wake in
      // No request is made for a reader that has left already.
      if Task.isCancelled { return .failure(CancellationError()) }
      let outcome = withState { $0.wait(id, .init(reader: reader, offset: offset, wake: wake)) }
      if Task.isCancelled { withState { $0.cancelWaiter(id) } }
      return outcome
    } onCancel: {
      self.withState { $0.cancelWaiter(id) }
    }
  }

  func waitUntilWanted(_ id: FetchID) async {
    // Nothing resumes it with an error.
    try? await suspend { wake in
      withState { !Task.isCancelled && $0.pause(id, wake) } ? nil : .success(())
    } onCancel: {
      self.withState { $0.resume(id) }
    }
  }

  /// Suspends until what `register` was given is called, unless it returns the outcome.
  private func suspend(
    _ register: (@escaping GenerationState.Wake) -> Result<Void, any Error>?,
    onCancel: @Sendable () -> Void
  ) async throws {
    try await withTaskCancellationHandler(
      operation: {
        try await withCheckedThrowingContinuation { continuation in
          let outcome = register { continuation.resume(with: $0) }
          if let outcome { continuation.resume(with: outcome) }
        }
      }, onCancel: onCancel)
  }

  /// Drops what could not be read of a file, perhaps an earlier one.
  func lose(_ range: ByteRange, of file: EntryFile) {
    entry.events.send(
      .warning(
        "The file of \(entry.storage.url) could not be read at byte \(range.lowerBound), perhaps "
          + "because another program truncated it (\(file.path)); the bytes are fetched again."))
    let size = (try? file.status())?.size
    withState { if $0.file === file { $0.storage.lose(range, size: size) } }
  }
}

extension Generation {
  /// Examines a resource that may be a document (`DocumentRules`) once all of it is stored: the update
  /// interval that it states bounds its use. Blocks on the disk. The length that is `given`, and what
  /// is `written`, become known to readers only afterwards: they would use it for too long.
  func learnPace(length given: Int64? = nil, with written: ByteRange? = nil) {
    let complete = withState { state -> (any DocumentRules, EntryFile, Int64)? in
      guard let rules = state.representation.documents, let file = state.file,
        let length = given ?? state.length,
        state.representation.mayBeUnreadDocument(ofLength: length)
      else { return nil }
      var stored = state.stored
      if let written { stored.insert(contentsOf: written) }
      return stored.end(from: 0) >= length ? (rules, file, length) : nil
    }
    guard let (rules, file, length) = complete else { return }
    func read(_ count: Int64) -> Data? {
      (try? file.beginning(Int(count))).flatMap { $0.count == count ? Data($0) : nil }
    }
    guard let beginning = read(min(length, 64)) else { return }
    var isUnreadable = false
    let pace = rules.pace(at: entry.resource.url, beginning: beginning) {
      let body = read(length)
      isUnreadable = body == nil
      return body
    }
    if isUnreadable { return }
    withState { state in
      // Its name may say document although its bytes do not.
      guard let pace = pace ?? (state.freshness?.pace == .unread ? .unstated : nil) else { return }
      state.representation.freshness?.pace = pace
      state.storage.noteRecordStale()
    }
  }
}

extension Generation {
  /// Fills the holes ahead of readers, then those behind, until cancelled: by a background reader
  /// that reads nothing and gives way to all others (`FillPolicy.wholeResource`). Returns when
  /// nothing is left to do, or another generation has begun.
  func fill() async {
    let reader = withState { state in
      state.add(.init(isBackground: true, minimum: state.limits.firstRequest))
    }
    defer { leave(reader) }
    while !Task.isCancelled, entry.current === self, let hole = withState({ $0.holeToFill }) {
      var pause: Duration = .seconds(5)
      let isRefused = entry.origin.isOffline || withState { $0.storage.isRefused(at: .now) }
      if !isRefused, await !entry.isTaken(for: self) {
        // Moves the reader there.
        _ = withState { $0.lookUp(reader, at: hole, count: 0) }
        do {
          try await wait(reader, at: hole)
          continue
        } catch let error as MediaCacheError where error == GenerationState.keepsChanging {
          // A reader that asks again may begin another version, which is filled then.
          return
        } catch {
          // A reader that needs the bytes gets the error. Some responses fail forever.
          let mayPass = entry.origin.isOffline || withState { $0.isTransient }
          if !mayPass { pause = .seconds(60) }
        }
      }
      // Throws only if cancelled.
      try? await Task.sleep(for: pause)
    }
  }
}

extension GenerationState {
  /// The first hole after the readers' positions, else the first of all.
  fileprivate var holeToFill: Int64? {
    if isOver || isLive { return nil }
    let front = readers.values.filter { !$0.isBackground }.map(\.position).max() ?? 0
    return hole(from: front) ?? hole(from: 0)
  }
}

extension Entry {
  /// Whether another process stores the entry (`Store.isTaken`). Not cancelled with the caller:
  /// what is prepared then serves other readers, too.
  func isTaken(for generation: Generation) async -> Bool {
    if generation.withState(\.storage.isPrepared) { return false }
    return await Task(executorPreference: IOThreads.background) { [self] in
      defer { endTask() }
      return beginTask() ? await storage.isTaken(for: generation) : false
    }.value
  }
}

/// What the fetches of a cache share.
struct FetchStarter: Sendable {
  let origin: Origin
  let gate = PlaybackPriority()
  let plan: FetchPlan
  let trustsStored: Bool
  /// The time between two looks at fetches without readers; those without any at both end.
  let abandonedSilence: Duration
  let run: @Sendable (Generation, FetchID, ByteRange) async -> Void

  func emptyState(of resource: Resource) -> GenerationState {
    GenerationState(
      limits: plan, isOffline: origin.isOffline, trustsStored: trustsStored,
      representation: Representation(
        documents: resource.policy.documents, requestedAt: resource.url))
  }
}

/// While a player anywhere in the cache is short of bytes, background fetches pause.
final class PlaybackPriority: Sendable {
  /// The number of fetches whose bytes players are short of.
  private let short = Atomic(0)

  var isFree: Bool { short.load(ordering: .relaxed) <= 0 }

  func count(_ change: Int) { short.add(change, ordering: .relaxed) }

  /// Returns soon after no player is short, the task is cancelled, or it `isExempt`.
  func waitTurn(unless isExempt: () -> Bool) async {
    while !isFree, !Task.isCancelled, !isExempt() {
      try? await Task.sleep(for: .milliseconds(50))
    }
  }
}

/// A lock of which a debug build counts how often it is taken, for a test.
struct CountedMutex<Value: Sendable>: ~Copyable, Sendable {
  private let mutex: Mutex<Value>
  #if DEBUG
    private let taken = Atomic(0)
    var count: Int { taken.load(ordering: .relaxed) }
  #endif

  init(_ value: Value) { mutex = Mutex(value) }

  func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    #if DEBUG
      taken.add(1, ordering: .relaxed)
    #endif
    return mutex.withLock { body(&$0) }
  }
}
