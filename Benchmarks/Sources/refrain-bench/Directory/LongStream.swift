// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Measures a stream of 100,000 stored segments over one of 1,000: opening the cache and reading
/// the first byte of a segment, listing the stream as one item, and evicting one of the segments.
/// As removing files takes longer the more there are, eviction is also measured over the system
/// calls that remove as many segments from the same directory.
enum LongStream: Benchmark {
  static let name = "segments"
  private static let counts = [1000, 100_000]
  /// The number of entries evicted at once, of a stream.
  private static func evicted(of count: Int) -> Int { max(100, count / 100) }

  private static let opening = Row(
    "open a cache and read a byte of a segment, stream of 100,000 ÷ of 1,000, time", .atMost(2))
  private static let listing = Row(
    "list a stream of 100,000 segments ÷ of 1,000, time for each segment", .atMost(2))
  private static let eviction = Row(
    "evict one segment, stream of 100,000 ÷ of 1,000, time", .atMost(2))
  private static let removalShort = Row(
    "evict one segment ÷ remove its files by system calls, stream of 1,000, time")
  private static let removalLong = Row(
    "evict one segment ÷ remove its files by system calls, stream of 100,000, time")
  static let rows = [opening, listing, eviction, removalShort, removalLong]

  private struct Times {
    var openings: [Double] = []
    /// Of one segment.
    var listings: [Double] = []
    /// Of one segment.
    var evictions: [Double] = []
    /// Of one segment, by system calls alone.
    var removals: [Double] = []
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
        format: "  open %.2f, %.2f ms; list %.1f, %.1f µs each; evict %.1f, %.1f µs each; "
          + "remove %.1f, %.1f µs each",
        Measure.median(short.openings) * 1e3, Measure.median(long.openings) * 1e3,
        Measure.median(short.listings) * 1e6, Measure.median(long.listings) * 1e6,
        Measure.median(short.evictions) * 1e6, Measure.median(long.evictions) * 1e6,
        Measure.median(short.removals) * 1e6, Measure.median(long.removals) * 1e6))
    report.record(opening, Measure.ratios(long.openings, to: short.openings))
    report.record(listing, Measure.ratios(long.listings, to: short.listings))
    report.record(eviction, Measure.ratios(long.evictions, to: short.evictions))
    report.record(removalShort, Measure.ratios(short.evictions, to: short.removals))
    report.record(removalLong, Measure.ratios(long.evictions, to: long.removals))
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
    times.evictions = try await evictions(cache, evicted(of: count))
    times.removals = try removals(cache, evicted(of: count))
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
      guard case .group(let stream)? = items.first, items.count == 1, stream.parts == count else {
        throw Failure("the list has \(items.count) items")
      }
      // The first round finds nothing in the kernel's caches.
      if round > 0 { times.append(seconds / Double(count)) }
    }
    await cache.close()
    return times
  }

  private static func evictions(
    _ directory: URL, _ evicted: Int
  ) async throws -> [Double] {
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

  /// Removes segments by system calls, in an order that has nothing to do with their names, as
  /// eviction does.
  private static func removals(_ directory: URL, _ evicted: Int) throws -> [Double] {
    let entries = directory.appending(path: "entries").path
    let manager = FileManager.default
    let folders = try manager.contentsOfDirectory(atPath: entries).flatMap { shard in
      try manager.contentsOfDirectory(atPath: "\(entries)/\(shard)").map {
        "\(entries)/\(shard)/\($0)"
      }
    }
    // Eviction may have left few of the short stream.
    let count = min(evicted, folders.count / 3)
    guard count >= 10 else { throw Failure("too few segments are left") }
    let chosen = try folders.shuffled().prefix(3 * count).map { folder in
      (folder, try manager.contentsOfDirectory(atPath: folder).map { "\(folder)/\($0)" })
    }
    return try stride(from: 0, to: chosen.count, by: count).map { start in
      let clock = ContinuousClock.now
      for (folder, files) in chosen[start..<start + count] {
        for file in files { unlink(file) }
        guard rmdir(folder) == 0 else { throw Failure("\(folder) cannot be removed") }
      }
      return (ContinuousClock.now - clock) / .seconds(1) / Double(count)
    }
  }
}
