// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Measures a stream of 100,000 stored segments over one of 1,000: opening the cache and reading
/// the first byte of a segment, listing the stream as one item, and evicting one of the segments.
enum LongStream: Benchmark {
  static let name = "segments"
  private static let counts = [1000, 100_000]
  /// The number of entries evicted at once.
  private static let evicted = 100

  private static let opening = Row(
    "open a cache and read a byte of a segment, stream of 100,000 ÷ of 1,000, time", .atMost(2))
  private static let listing = Row(
    "list a stream of 100,000 segments ÷ of 1,000, time for each segment", .atMost(2))
  private static let eviction = Row(
    "evict one segment, stream of 100,000 ÷ of 1,000, time", .atMost(2))
  static let rows = [opening, listing, eviction]

  private struct Times {
    var openings: [Double] = []
    /// Of one segment.
    var listings: [Double] = []
    /// Of one segment.
    var evictions: [Double] = []
  }

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("segments")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    try Data("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\ns0.ts\n#EXT-X-ENDLIST\n".utf8)
      .write(to: origin.files.appending(path: "list.m3u8"))
    try Data(count: 2000).write(to: origin.files.appending(path: "s0.ts"))
    var times: [Times] = []
    for count in counts {
      let cache = directory.appending(path: "cache-\(count)")
      times.append(try await measure(cache, count, origin))
      try FileManager.default.removeItem(at: cache)
    }
    let (short, long) = (times[0], times[1])
    report.note(
      String(
        format: "  open %.2f, %.2f ms; list %.1f, %.1f µs each; evict %.1f, %.1f µs each",
        Measure.median(short.openings) * 1e3, Measure.median(long.openings) * 1e3,
        Measure.median(short.listings) * 1e6, Measure.median(long.listings) * 1e6,
        Measure.median(short.evictions) * 1e6, Measure.median(long.evictions) * 1e6))
    report.record(opening, Measure.ratios(long.openings, to: short.openings))
    report.record(listing, Measure.ratios(long.listings, to: short.listings))
    report.record(eviction, Measure.ratios(long.evictions, to: short.evictions))
  }

  private static func measure(
    _ cache: URL, _ count: Int, _ origin: FileOrigin
  ) async throws -> Times {
    let directory = cache.path(percentEncoded: false)
    // Unlike prefetching, this records of which stream the segment is a part.
    try Command.run(Program.refrain, ["get", origin.url("/list.m3u8"), "--cache", directory])
    guard let url = URL(string: origin.url("/s0.ts")) else { throw Failure("no URL") }
    let segment = Resource(url: url)
    let opened = try MediaCache(directory: cache)
    guard let file = try await opened.completeFile(for: segment) else {
      throw Failure("the segment is not stored")
    }
    await opened.close()
    try Entries.multiply(file.deletingLastPathComponent(), count: count - 1, in: cache)
    // It does not know the copies: the cache measures the directory.
    try FileManager.default.removeItem(at: cache.appending(path: "usage"))
    sync()
    var times = Times()
    times.openings = try await openings(cache, segment)
    times.listings = try await listings(cache, count)
    times.evictions = try await evictions(cache)
    return times
  }

  private static func openings(_ directory: URL, _ segment: Resource) async throws -> [Double] {
    var configuration = MediaCache.Configuration()
    // No request.
    configuration.trustStored = true
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 16)
    defer { buffer.deallocate() }
    var times: [Double] = []
    for _ in 0..<9 {
      var cache: MediaCache?
      times.append(
        try await Measure.seconds {
          let opened = try MediaCache(directory: directory, configuration: configuration)
          let reader = try await opened.open(segment)
          _ = try await reader.read(into: buffer, at: 0)
          reader.cancel()
          cache = opened
        })
      await cache?.close()
    }
    return times
  }

  private static func listings(_ directory: URL, _ count: Int) async throws -> [Double] {
    let cache = try MediaCache(directory: directory)
    var times: [Double] = []
    for round in 0...3 {
      var items: [StoredItem] = []
      let seconds = try await Measure.seconds { items = try await cache.storedItems() }
      guard case .stream(let stream)? = items.first, items.count == 1, stream.parts == count else {
        throw Failure("the list has \(items.count) items")
      }
      // The first round finds nothing in the kernel's caches.
      if round > 0 { times.append(seconds / Double(count)) }
    }
    await cache.close()
    return times
  }

  private static func evictions(_ directory: URL) async throws -> [Double] {
    let cache = try MediaCache(directory: directory)
    guard let size = try await cache.entries().first?.allocatedBytes else {
      throw Failure("nothing is stored")
    }
    var times: [Double] = []
    // The first rounds measure the directory: what the cache counts may be off.
    for round in 0..<5 {
      let before = try await settledUsage(of: cache)
      // The cache keeps so much of its limit free.
      let limit = before - Int64(evicted) * size + (32 << 10)
      let seconds = await Measure.seconds { _ = await cache.setLimit(limit) }
      if round > 1 { times.append(seconds / Double(evicted)) }
    }
    await cache.close()
    return times
  }

  /// Returns the size of the directory, once nothing is evicted in advance any more.
  private static func settledUsage(of cache: MediaCache) async throws -> Int64 {
    var last: Int64 = -1
    while true {
      let now = try await cache.usage().allocatedBytes
      if now == last { return now }
      last = now
      try await Task.sleep(for: .seconds(1))
    }
  }
}
