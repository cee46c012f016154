// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import RefrainLocks

/// Dedicated threads for system calls that block, as a task executor: Swift's cooperative pool has
/// only as many threads as there are cores, and none of them may wait for a disk.
package final class IOThreads: TaskExecutor {
  /// Threads for fetches (which write) and for cold reads.
  package static let shared = IOThreads(name: "refrain.io", count: 4)
  /// Threads for syncing, scanning and evicting, which may take long. Usually more than cores: file
  /// systems merge syncs that arrive at the same time.
  package static let background = IOThreads(name: "refrain.background", count: 8)
  /// For trials of the disk, whose time says whether the disk responds.
  static let trial = IOThreads(name: "refrain.trial", count: 1)

  /// First in, first out.
  private let jobs = Mutex<[UnownedJob]>([])
  /// Counts the jobs. These threads are no cooperative ones, and may wait.
  private let waiting = DispatchSemaphore(value: 0)

  private init(name: String, count: Int) {
    for index in 0..<count {
      let thread = Thread { [self] in
        while true {
          waiting.wait()
          let job = jobs.withLock { $0.removeFirst() }
          // A thread drains its own pool only when it ends, and these never end.
          #if canImport(ObjectiveC)
            autoreleasepool { job.runSynchronously(on: asUnownedTaskExecutor()) }
          #else
            job.runSynchronously(on: asUnownedTaskExecutor())
          #endif
        }
      }
      thread.name = "\(name).\(index)"
      thread.start()
    }
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    waiting.signal()
  }

  /// Runs blocking work here and waits for it without blocking the caller's thread.
  package func run<Result: Sendable, Failure: Error>(
    _ work: @Sendable () throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await withTaskExecutorPreference(self) { () async throws(Failure) -> Result in try work() }
  }

  /// Runs work here, and blocks the caller's thread until it has ended: never one that runs tasks.
  func wait<Value: Sendable>(
    for work: @Sendable @escaping () async throws -> Value
  ) throws -> Value {
    // No lock: it is written once, before the signal, and read after it, which orders both.
    nonisolated(unsafe) var outcome: Result<Value, any Error> = .failure(CancellationError())
    let isOver = DispatchSemaphore(value: 0)
    Task(executorPreference: self) {
      do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
      isOver.signal()
    }
    isOver.wait()
    return try outcome.get()
  }
}
