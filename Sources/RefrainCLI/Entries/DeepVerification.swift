// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// `verify --deep`: compares entries with their origins, one after the other.
struct DeepVerification: Sendable {
  private let cache: MediaCache
  private let options: GlobalOptions

  init(_ cache: MediaCache, _ options: GlobalOptions) {
    self.cache = cache
    self.options = options
  }

  /// Adds the result of the comparison to each entry's report.
  func run(_ results: inout [VerifyReport]) async throws {
    for index in results.indices {
      guard let key = results[index].key.map(CacheKey.init(rawValue:)),
        let entry = try await cache.entry(for: key)
      else { continue }
      try Task.checkCancellation()
      Console.shared.show("\(index + 1) of \(results.count)  \(URLArgument.name(of: entry.url))")
      try await compare(
        Resource(url: entry.url, headers: options.fields, key: key), &results[index])
    }
    Console.shared.clear()
  }

  private func compare(_ resource: Resource, _ report: inout VerifyReport) async throws {
    do {
      guard let comparison = try await cache.compareWithOrigin(resource) else { return }
      report.comparedBytes = comparison.comparedBytes
      report.notCompared = comparison.obstacle.map(\.reason)
      let damaged = comparison.damaged.ranges.reduce(0) { $0 + Int64($1.count) }
      if damaged > 0 {
        report.problems.append(
          "The entry differs from the origin's bytes in \(comparison.damaged.ranges.count) places; "
            + "\(damaged) bytes around them were dropped.")
        report.droppedBytes += damaged
      }
    } catch let error as MediaCacheError where error.code == .inUse || error.code == .storage {
      report.problems.append("\(error)")
    }
  }
}
