// SPDX-License-Identifier: MIT
import Foundation

/// Dedicated threads for system calls that block, as a task executor: Swift's cooperative pool has
/// only as many threads as there are cores, and none of them may wait for a disk.
///
/// A task made with `Task(executorPreference:)` runs here from its first line to its last.
package final class IOThreads: TaskExecutor {
  /// Threads for fetches (which write) and for cold reads.
  package static let shared = IOThreads(name: "refrain.io", count: 4)
  /// Threads for syncing, scanning and evicting, which may take long. Usually more threads than
  /// cores: file systems merge syncs that arrive at the same time.
  package static let background = IOThreads(name: "refrain.background", count: 8)

  /// One thread for trials of the disk, whose time says whether the disk responds: they must not
  /// wait for a long sweep of the others.
  static let trial = IOThreads(name: "refrain.trial", count: 1)

  private let queue = JobQueue()

  private init(name: String, count: Int) {
    for index in 0..<count {
      let thread = Thread { [queue, self] in
        while let job = queue.next() {
          Self.withAutoreleasePool { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
      }
      thread.name = "\(name).\(index)"
      thread.start()
    }
  }

  /// Drains a pool per job: Foundation drains a thread's own pool only when the thread ends, and
  /// these threads never end.
  private static func withAutoreleasePool(_ work: () -> Void) {
    #if canImport(ObjectiveC)
      autoreleasepool(invoking: work)
    #else
      work()
    #endif
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    queue.append(UnownedJob(job))
  }

  /// Runs blocking work here and waits for it without blocking the caller's thread.
  package func run<Result: Sendable, Failure: Error>(
    _ work: @Sendable @escaping () throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let outcome = await Task(executorPreference: self) { () -> Swift.Result<Result, Failure> in
      do throws(Failure) { return .success(try work()) } catch { return .failure(error) }
    }.value
    return try outcome.get()
  }

  /// Runs long work here and waits for it without blocking the caller's thread. Cancelling the
  /// caller's task cancels that of the work, which should then end early (`Task.isCancelled`).
  ///
  /// - Throws: the error of the work; `CancellationError`, whatever the work has returned by then.
  package func runCancellably<Result: Sendable>(
    _ work: @Sendable @escaping () throws -> Result
  ) async throws -> Result {
    // The work may be over before the handler below is installed.
    try Task.checkCancellation()
    let task = Task(executorPreference: self) {
      try Task.checkCancellation()
      let result = try work()
      try Task.checkCancellation()
      return result
    }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}

/// A first-in, first-out queue of jobs on which threads wait.
///
/// Unchecked because `NSCondition` guards `jobs` and the compiler cannot see it: `Mutex` has no
/// condition to wait on.
private final class JobQueue: @unchecked Sendable {
  private let condition = NSCondition()
  private var jobs: [UnownedJob] = []
  private var head = 0

  func append(_ job: UnownedJob) {
    condition.lock()
    jobs.append(job)
    condition.unlock()
    // After unlocking: the woken thread would otherwise wait for the lock at once.
    condition.signal()
  }

  /// Returns the next job, waiting for one if there is none.
  func next() -> UnownedJob? {
    condition.lock()
    defer { condition.unlock() }
    while head == jobs.count { condition.wait() }
    let job = jobs[head]
    head += 1
    if head == jobs.count {
      jobs.removeAll(keepingCapacity: true)
      head = 0
    } else if head == 1024 {
      jobs.removeFirst(head)
      head = 0
    }
    return job
  }
}

/// A buffer on its way to a thread and back.
///
/// Unchecked: a pointer can be misused anywhere, but here its owner waits for the one thread that
/// writes through it.
struct LentBuffer: @unchecked Sendable {
  let buffer: UnsafeMutableRawBufferPointer
  init(_ buffer: UnsafeMutableRawBufferPointer) { self.buffer = buffer }
}
