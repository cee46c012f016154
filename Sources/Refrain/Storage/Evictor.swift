// SPDX-License-Identifier: MIT
import Foundation

/// Makes room in a store, one at a time. Called from tasks on `IOThreads` only: a default actor runs
/// where its caller's task prefers, and everything here blocks.
actor Evictor {
  private let store: Store
  private let idleHolds: IdleHolds
  private let report: @Sendable (CacheEvent) -> Void

  init(
    store: Store, idleHolds: IdleHolds, report: @Sendable @escaping (CacheEvent) -> Void
  ) {
    self.store = store
    self.idleHolds = idleHolds
    self.report = report
  }

  /// Frees what `bytes` more need, taking from entries that nobody uses.
  ///
  /// - Returns: whether there is room now.
  func makeRoom(for bytes: Int64) async -> Bool {
    guard let limit = store.limit else { return true }
    guard lookUp() else { return false }
    var attempts = 0
    while true {
      let amount = Eviction.amount(needed: bytes, used: store.usedBytes, limit: limit)
      if amount > 0 { free(amount) }
      if store.usedBytes + bytes <= limit { return true }
      // What is held open needlessly can go as soon as it has been written down.
      if idleHolds.releaseAll() { attempts = Self.attempts }
      guard attempts > 0 else { return false }
      attempts -= 1
      try? await Task.sleep(for: .milliseconds(10))
    }
  }

  private static let attempts = 100
  /// Why the directory could not be looked through last, which is reported once.
  private var scanFailure: Int32?

  /// Frees some `bytes` for a disk that is full, whatever the limit says.
  ///
  /// - Returns: what was freed.
  @discardableResult
  func free(_ bytes: Int64) -> Int64 {
    guard lookUp() else { return 0 }
    var freed: Int64 = 0
    // What turns out to be in use elsewhere stays, and others go in its place.
    var spared: Set<String> = []
    while freed < bytes {
      let candidates = store.candidates().filter { !spared.contains($0.name) }
      let steps = Eviction.plan(candidates, toFree: bytes - freed)
      if steps.isEmpty { break }
      for step in steps {
        let gone = evict(step)
        if gone <= 0 { spared.insert(step.name) }
        freed += gone
      }
    }
    return freed
  }

  /// Looks up what is used, where that has grown old.
  ///
  /// - Returns: false where it has never been known: nothing can be stored under a limit then. Where
  ///   it only cannot be brought up to date, the old account stands.
  private func lookUp() -> Bool {
    guard store.needsScan else { return true }
    do throws(DiskError) {
      try store.scan()
      scanFailure = nil
    } catch {
      if scanFailure != error.code {
        report(
          .warning(
            "\(store.directory) cannot be looked through: \(error). "
              + (store.isScanned
                ? "What was found before is counted on."
                : "Nothing is stored until it can, for the limit could not be kept.")))
      }
      scanFailure = error.code
    }
    return store.isScanned
  }

  private func evict(_ step: Eviction.Step) -> Int64 {
    let directory = store.entryDirectory(named: step.name)
    do {
      guard let lock = try WriterLock.acquire(directory, waits: false) else {
        if try store.disk.status(of: directory.path) == nil { store.forget(step.name) }
        return 0
      }
      defer { withExtendedLifetime(lock) {} }
      guard !store.isOpen(step.name) else { return 0 }
      return try evict(step, directory)
    } catch {
      report(.warning("\(directory.path) could not be evicted: \(error)."))
      return 0
    }
  }

  private func evict(_ step: Eviction.Step, _ directory: EntryDirectory) throws -> Int64 {
    let before = try store.measure(step.name)?.allocatedBytes ?? 0
    var key: CacheKey?
    do {
      key =
        try step.removesAll
        ? directory.removeUnused() : directory.shorten(by: step.bytes)
    } catch {
      // A part of it may be gone all the same.
      report(.warning("\(directory.path) could not be evicted: \(error)."))
    }
    let after = try store.measure(step.name)?.allocatedBytes
    if let after {
      store.setSize(step.name, allocated: after)
    } else {
      store.forget(step.name)
    }
    let freed = before - (after ?? 0)
    if let key, freed > 0 { report(.evicted(key, bytes: freed)) }
    return max(freed, 0)
  }
}
