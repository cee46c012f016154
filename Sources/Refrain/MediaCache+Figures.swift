// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

extension MediaCache {
  /// Returns how much of the resource is stored. Makes no request.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read.
  public func progress(of resource: Resource) async throws -> CacheProgress {
    try await progress(of: storedKey(for: resource))
  }

  /// Returns `progress(of:)` for the entry stored under a key.
  public func progress(of key: CacheKey) async throws -> CacheProgress {
    if let generation = table.openEntry(for: key)?.current {
      return generation.withState { CacheProgress(length: $0.length, spans: $0.stored) }
    }
    let summary = try await entry(for: key)
    return CacheProgress(length: summary?.length, spans: summary?.spans ?? RangeSet())
  }

  /// Returns the ranges of an open entry that are being fetched, with `Int64.max` for an unknown
  /// end. Changes with the events `fetchStarted` and `fetchFinished`.
  package func fetchingRanges(of key: CacheKey) -> RangeSet<Int64> {
    table.openEntry(for: key)?.current?.withState(\.fetching) ?? RangeSet()
  }

  /// Returns the progress now and after each change, at most ten times a second, until the
  /// consuming task is cancelled or the cache is closed.
  public func progressUpdates(of resource: Resource) -> AsyncStream<CacheProgress> {
    let key = key(for: resource)
    let changes = events.stream(includingTraffic: true, backlog: 1) { event in
      switch event {
      case .committed(let other, _), .evicted(let other, _), .generationChanged(let other),
        .fetchFinished(let other, _, _), .opened(let other):
        other == key || Selection.isRepresentation(other, ofAny: [key])
      default: false
      }
    }
    let (stream, continuation) = AsyncStream.makeStream(
      of: CacheProgress.self, bufferingPolicy: .bufferingNewest(1))
    let task = Task { [weak self] in
      var changes = changes.makeAsyncIterator()
      var last: CacheProgress?
      repeat {
        // A failed look-up counts as no change.
        if let now = try? await self?.progress(of: resource), now != last {
          last = now
          continuation.yield(now)
        }
        // On cancellation the stream of changes ends.
        try? await Task.sleep(for: .milliseconds(100))
      } while await changes.next() != nil
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }
}

/// How much of a resource is stored at one moment.
public struct CacheProgress: Sendable, Hashable {
  /// The length in bytes; nil while unknown.
  public var length: Int64?
  /// The stored ranges.
  public var spans: RangeSet<Int64>

  public init(length: Int64?, spans: RangeSet<Int64>) {
    (self.length, self.spans) = (length, spans)
  }

  /// The number of stored bytes.
  public var storedBytes: Int64 { spans.byteCount }

  public var isComplete: Bool { length.map { spans.end(from: 0) >= $0 } ?? false }

  /// The stored fraction, from 0 (nothing) to 1 (all); nil while the length is unknown.
  public var fraction: Double? {
    guard let length else { return nil }
    return length == 0 ? 1 : Double(storedBytes) / Double(length)
  }
}

extension MediaCache {
  /// The state of a cache at one moment, and its work since it was opened.
  package struct Figures: Sendable {
    package var originRequests: Int64
    /// Of bodies.
    package var originBytes: Int64
    /// The entries that were removed, all or in part, to make room.
    package var evictions: Int64
    package var evictedBytes: Int64
    package var openEntries: Int
    package var readers: Int
    /// The disk space of all entries, as counted: at least the allocated blocks.
    package var usedBytes: Int64
    package var limit: Int64?
  }

  /// Looks at no entry on disk.
  package func figures() async -> Figures {
    let (budget, counters) = (budget, origin.counters)
    let open = table.openEntries
    let used = await IOThreads.background.run { budget.usage.update { $0.used } }
    return Figures(
      originRequests: counters.originRequests.load(ordering: .relaxed),
      originBytes: counters.originBytes.load(ordering: .relaxed),
      evictions: counters.evictions.load(ordering: .relaxed),
      evictedBytes: counters.evictedBytes.load(ordering: .relaxed),
      openEntries: open.count,
      readers: open.reduce(0) { $0 + ($1.current?.withState { $0.readers.all.count } ?? 0) },
      usedBytes: used, limit: limit)
  }

  /// Writes a small unnamed file in the cache directory and syncs it, however long the disk takes.
  /// Returns `works`, `full`, or what failed.
  package func tryDisk() async -> String {
    await IOThreads.trial.run {
      let disk = budget.disk
      let path = "\(budget.directory)/trial-\(UUID().uuidString)"
      do throws(DiskError) {
        guard try disk.status(of: budget.entriesPath)?.kind == .directory else {
          return "\(budget.entriesPath) is missing."
        }
        let file = try EntryFile(path: path, mode: .create, lock: nil, disk: disk)
        // First: nothing is left if the process ends now.
        try disk.remove(path)
        try file.write([UInt8](repeating: 0x5A, count: 512), at: 0)
        try file.sync()
        return "works"
      } catch {
        return error.isNoSpace ? "full" : "\(error)."
      }
    }
  }

  /// Returns the state of every entry that this process has open. Reads no file.
  package func activity() -> [EntryActivity] {
    table.openEntries.compactMap { entry in
      let (url, group) = (entry.resource.url.withoutUserInfo, entry.group)
      let received = entry.requests.sums.received
      return entry.current?.withState { state in
        // Of a stream without a length, the next byte alone is known to arrive.
        let end = state.length ?? (state.stored.ranges.last?.upperBound ?? 0) + 1
        let missing = state.fetching.intersection(RangeSet(0..<end)).subtracting(state.stored)
        return EntryActivity(
          key: entry.key, url: url, group: group.map { CacheKey(rawValue: $0) },
          mimeType: state.info?.mimeType, length: state.length, spans: state.stored,
          fetching: Array(missing.ranges),
          readers: state.readers.values.filter { $0.isActive && !$0.isBackground }
            .map(\.position).sorted(),
          received: received)
      }
    }
  }
}

/// The state of one open entry at one moment.
package struct EntryActivity: Sendable {
  package var key: CacheKey
  package var url: URL
  package var group: CacheKey?
  package var mimeType: String?
  package var length: Int64?
  package var spans: RangeSet<Int64>
  /// The bytes still to arrive of running requests, in order.
  package var fetching: [ByteRange]
  /// The positions of the readers that play, in order.
  package var readers: [Int64]
  /// The bytes received from the origin since the entry was opened.
  package var received: Int64
}
