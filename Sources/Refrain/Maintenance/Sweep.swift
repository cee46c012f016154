// SPDX-License-Identifier: MIT
import RefrainLocks

/// Visits all entries of a store on several threads at once: most of the time is spent in system
/// calls, which wait for the disk or run on another core.
struct Sweep: Sendable {
  let budget: DiskBudget

  /// The number of threads used at once; the others of `IOThreads.background` stay free for
  /// syncing.
  static let width = 4

  /// Receives the number of entries done and of all entries, on several threads at once: a call may
  /// be overtaken by a later one.
  typealias Progress = @Sendable (_ done: Int, _ total: Int) -> Void

  /// Calls `body` with the entries of each shard, one shard at a time per thread. A cancelled task
  /// stops between two shards.
  ///
  /// - Parameter body: blocks; receives the names of one shard's entries, and calls `done` for each
  ///   entry that it has finished.
  /// - Returns: the values that `body` returned, in the order of the directory.
  func run<Value: Sendable>(
    progress: Progress? = nil,
    _ body: @Sendable @escaping (_ names: [String], _ done: () -> Void) throws -> Value
  ) async throws -> [Value] {
    let shards = try await IOThreads.background.run { () throws(DiskError) in
      try budget.shards().map { shard throws(DiskError) in try budget.names(inShard: shard) }
    }
    let count = Count(total: shards.reduce(0) { $0 + $1.count }, progress)
    return try await withThrowingTaskGroup(of: [(Int, Value)].self) { group in
      for first in 0..<min(Self.width, shards.count) {
        group.addTask(executorPreference: IOThreads.background) {
          var values: [(Int, Value)] = []
          for index in stride(from: first, to: shards.count, by: Self.width) {
            try Task.checkCancellation()
            values.append((index, try body(shards[index]) { count.increment() }))
            // Other tasks wait for the same threads.
            await Task.yield()
          }
          return values
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  private final class Count: Sendable {
    private let total: Int
    private let progress: Progress?
    private let done = Atomic(0)

    init(total: Int, _ progress: Progress?) {
      self.total = total
      self.progress = progress
    }

    func increment() {
      let done = done.add(1, ordering: .relaxed).newValue
      progress?(done, total)
    }
  }
}
