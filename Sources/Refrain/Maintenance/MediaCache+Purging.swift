// SPDX-License-Identifier: MIT
import Foundation

/// Purging: the origin's resources have changed, and the stored responses must not be used as if
/// they had not.
///
/// From the end of a purge on, no request is answered with a response that the origin gave before
/// its beginning, unless the origin has confirmed it since. Requests that are being answered end
/// with the version with which they began.
extension MediaCache {
  /// The outcome of a purge.
  package struct Purged: Sendable {
    /// The number of entries.
    package var entries = 0
    package var freedBytes: Int64 = 0
    /// The keys of the resources of these entries.
    package var resources: Set<CacheKey> = []
    /// The reasons why some entries could not be purged.
    package var failures: [MediaCacheError] = []

    mutating func note(_ outcome: Result<Int64?, any Error>, of key: CacheKey) {
      switch outcome {
      case .success(let freed):
        guard let freed else { return }
        entries += 1
        freedBytes += freed
        resources.insert(Selection.resourceKey(of: key) ?? key)
      case .failure(let error):
        failures.append(error as? MediaCacheError ?? MediaCacheError(.storage, "\(error)"))
      }
    }
  }

  /// The number of entries purged at once, each of which waits for the disk.
  private static let width = 4

  /// Removes entries.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read; `CancellationError`,
  ///   with some of the entries purged.
  package func purge(_ selection: PurgeSelection) async throws -> Purged {
    let time = context.now.wall
    var keys: Set<CacheKey> = []
    // First: what requests from before this moment bring is not to be used.
    for entry in await context.table.settledEntries()
    where selection.contains(entry.key, url: entry.resource.url.withoutUserInfo.absoluteString) {
      keys.insert(entry.key)
    }
    keys.formUnion(try await storedKeys(in: selection))
    let purge = Purge(context: context, time: time)
    var waiting = Array(keys)
    return try await withThrowingTaskGroup(
      of: (key: CacheKey, result: Result<Int64?, any Error>).self
    ) { group in
      var outcome = Purged()
      for _ in 0..<min(Self.width, waiting.count) {
        group.addTask { [key = waiting.removeLast()] in try await purge.outcome(of: key) }
      }
      while let (key, result) = try await group.next() {
        outcome.note(result, of: key)
        guard let next = waiting.popLast() else { continue }
        group.addTask { try await purge.outcome(of: next) }
      }
      return outcome
    }
  }

  /// Returns the keys of stored entries, and those that were named.
  private func storedKeys(in selection: PurgeSelection) async throws -> Set<CacheKey> {
    let inspector = CacheInspector(context: context)
    var keys = selection.keys
    do {
      if selection.needsSearch {
        keys.formUnion(
          try await inspector.keys { key, record in
            selection.contains(key, url: record.url)
          })
      } else {
        keys.formUnion(try await inspector.representations(of: selection.keys, isCertain: true))
      }
    } catch let error as DiskError {
      throw MediaCacheError(
        .storage, "The entries of the cache could not be listed: \(error).",
        remedy: "Check the disk and the permissions of the cache directory.")
    }
    return keys
  }
}
