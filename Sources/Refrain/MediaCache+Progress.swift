// SPDX-License-Identifier: MIT

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

  /// Returns the ranges of the entry open under a key that are being fetched: those of requests
  /// that run, or are sent again after a delay. An unknown end is `Int64.max`. Changes with the
  /// events `fetchStarted` and `fetchFinished`; unlike those, it is right about requests that share
  /// bytes, or were shortened, or began earlier.
  package func fetchingRanges(of key: CacheKey) -> RangeSet<Int64> {
    table.openEntry(for: key)?.current?.withState(\.fetching) ?? RangeSet()
  }

  /// Returns the progress now and after each change, at most ten times a second, until the
  /// consuming task is cancelled or the cache is closed.
  public func progressUpdates(of resource: Resource) -> AsyncStream<CacheProgress> {
    let key = key(for: resource)
    let changes = events.stream(includingTraffic: true, backlog: 1) {
      $0.changesStored(key)
    }
    let (stream, continuation) = AsyncStream.makeStream(
      of: CacheProgress.self, bufferingPolicy: .bufferingNewest(1))
    let task = Task { [weak self] in
      var last: CacheProgress?
      func send() async {
        // A failed look-up counts as no change.
        guard let now = try? await self?.progress(of: resource), now != last else { return }
        last = now
        continuation.yield(now)
      }
      await send()
      for await _ in changes {
        await send()
        // On cancellation the stream of changes ends.
        try? await Task.sleep(for: .milliseconds(100))
      }
      await send()
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }
}

extension CacheEvent {
  fileprivate func changesStored(_ key: CacheKey) -> Bool {
    switch self {
    case .committed(let other, _), .evicted(let other, _), .generationChanged(let other),
      .fetchFinished(let other, _, _), .opened(let other):
      other == key || Selection.isRepresentation(other, ofAny: [key])
    default: false
    }
  }
}

/// How much of a resource is stored at one moment.
public struct CacheProgress: Sendable, Hashable {
  /// The length in bytes; nil while unknown.
  public var length: Int64?
  /// The stored ranges.
  public var spans: RangeSet<Int64>

  public init(length: Int64?, spans: RangeSet<Int64>) {
    self.length = length
    self.spans = spans
  }

  /// The number of stored bytes.
  public var storedBytes: Int64 { spans.byteCount }

  public var isComplete: Bool {
    guard let length else { return false }
    return spans.end(from: 0) >= length
  }

  /// The stored fraction, from 0 (nothing) to 1 (all); nil while the length is unknown.
  public var fraction: Double? {
    guard let length else { return nil }
    return length == 0 ? 1 : Double(storedBytes) / Double(length)
  }
}
