// SPDX-License-Identifier: MIT
import RefrainLocks

/// Visits all entries of a store on several threads at once: most of the time is spent in system
/// calls, which wait for the disk or run on another core.
struct Sweep: Sendable {
  let budget: DiskBudget

  /// The number of threads used at once; the others of `IOThreads.background` stay free for
  /// syncing.
  static let width = 4

  /// Receives the progress, on several threads at once: a call may be overtaken by a later one.
  typealias Progress = @Sendable (MediaCache.EntryProgress) -> Void

  /// Calls `body` with the name of each entry, one shard at a time per thread. A cancelled task
  /// stops between two entries.
  ///
  /// - Parameters:
  ///   - shardDone: called with each shard after its entries.
  ///   - body: blocks.
  /// - Returns: the values that `body` returned, in the order of the directory.
  func run<Value: Sendable>(
    progress: Progress? = nil, shardDone: @Sendable @escaping (String) -> Void = { _ in },
    _ body: @Sendable @escaping (_ name: String) throws -> Value?
  ) async throws -> [Value] {
    let shards = try await IOThreads.background.run { () throws(DiskError) in
      try budget.shards().map { shard throws(DiskError) in
        (shard, try budget.names(inShard: shard))
      }
    }
    let count = Count(total: shards.reduce(0) { $0 + $1.1.count }, progress)
    return try await inParallel(shards, on: IOThreads.background) { shard, names in
      defer { shardDone(shard) }
      return try names.compactMap { name in
        try Task.checkCancellation()
        defer { count.increment() }
        return try body(name)
      }
    }.flatMap(\.self)
  }

  /// Counts what is done, and reports it.
  final class Count: Sendable {
    private let total: Int
    private let progress: Progress?
    private let done = Atomic(0)

    init(total: Int, _ progress: Progress?) {
      self.total = total
      self.progress = progress
    }

    func increment() {
      let done = done.add(1, ordering: .relaxed).newValue
      progress?(MediaCache.EntryProgress(done: done, total: total))
    }
  }
}

/// Calls `body` for each element, for a few at once. Ends with the first error, or when the task is
/// cancelled.
///
/// - Parameter executor: where `body` runs; nil: where the caller's task runs.
/// - Returns: the values in the order of the elements.
func inParallel<Element: Sendable, Value: Sendable>(
  _ elements: [Element], on executor: (any TaskExecutor)? = nil,
  _ body: @Sendable @escaping (Element) async throws -> Value
) async throws -> [Value] {
  try await withThrowingTaskGroup(of: [(Int, Value)].self) { group in
    for first in 0..<min(Sweep.width, elements.count) {
      group.addTask(executorPreference: executor) {
        var values: [(Int, Value)] = []
        for index in stride(from: first, to: elements.count, by: Sweep.width) {
          try Task.checkCancellation()
          values.append((index, try await body(elements[index])))
          // Other tasks wait for the same threads.
          await Task.yield()
        }
        return values
      }
    }
    return try await group.reduce(into: []) { $0 += $1 }.sorted { $0.0 < $1.0 }.map(\.1)
  }
}
