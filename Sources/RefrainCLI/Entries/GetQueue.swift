// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// The number of resources that `get` fetches at once. A pure value.
///
/// A large one uses all the bandwidth: it is fetched alone, so that those before it are complete if
/// the program is interrupted. Small ones cost round trips and disk writes, during which others can
/// be fetched: the longer the run of small ones, the more are fetched at once.
struct GetWindow: Sendable {
  static let widest = 8
  /// In bytes.
  static let small: Int64 = 1 << 20

  private(set) var width = 1

  /// Records that a resource of this length was fetched; nil: its length is unknown.
  mutating func fetched(_ length: Int64?) {
    width = (length ?? .max) <= Self.small ? min(Self.widest, width * 2) : 1
  }
}

/// Runs the work for each URL, several at once if they are small, and reports the results in the
/// order of the URLs.
struct GetQueue<Item: Sendable>: Sendable {
  let items: [Item]

  /// An item's turn, which comes once all items before it were reported.
  struct Turn: Sendable {
    fileprivate let index: Int
    fileprivate let reported: Reported

    var hasCome: Bool { reported.count.load(ordering: .relaxed) == index }
  }

  fileprivate final class Reported: Sendable {
    let count = Atomic(0)
  }

  /// - Parameters:
  ///   - work: returns the length of a resource.
  ///   - report: an error that it throws ends everything.
  func run(
    _ work: @escaping @Sendable (Item, Turn) async throws -> Int64?,
    report: (Item, Result<Int64?, any Error>) throws -> Void
  ) async throws {
    var window = GetWindow()
    var (next, reported, running) = (0, 0, 0)
    var results: [Int: Result<Int64?, any Error>] = [:]
    let reportedItems = Reported()
    try await withThrowingTaskGroup(of: (Int, Result<Int64?, any Error>).self) { group in
      while reported < items.count {
        while next < items.count, running < window.width {
          let (item, own) = (items[next], Turn(index: next, reported: reportedItems))
          group.addTask {
            let result: Result<Int64?, any Error>
            do { result = .success(try await work(item, own)) } catch { result = .failure(error) }
            // Not `(index, .success(try await …))`: optimised by Swift 6.3, a task that returns such a
            // tuple from both branches may return 0 as the index.
            return (own.index, result)
          }
          next += 1
          running += 1
        }
        guard let (index, result) = try await group.next() else { return }
        running -= 1
        if case .success(let length) = result { window.fetched(length) }
        results[index] = result
        while let result = results.removeValue(forKey: reported) {
          try report(items[reported], result)
          reported += 1
          reportedItems.count.store(reported, ordering: .relaxed)
        }
        try Task.checkCancellation()
      }
    }
  }
}
