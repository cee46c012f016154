// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Measures the first byte of a miss in a cache of 100,000 entries whose limit leaves no room for
/// it, over the same in an empty cache: in a process that has just opened the cache, and in one
/// that has had it open for a while, where the misses together bring far more bytes than one
/// eviction frees.
enum MissAmongMany: Benchmark {
  static let name = "miss"
  private static let count = 100_000
  private static let rounds = 5
  /// The number of misses of a process after the first one.
  private static let later = 15
  /// The size of each resource.
  private static let mebibytes = 8

  private static let opening = Row(
    "first byte of a miss among \(count) entries at the limit ÷ in an empty cache, just opened",
    .atMost(1.05))
  private static let open = Row(
    "first byte of a miss among \(count) entries at the limit ÷ in an empty cache, open for a while",
    .atMost(1.05))
  private static let wait = Row(
    "the same, the longest wait within \(later) × \(mebibytes) MiB")
  static let rows = [opening, open, wait]

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("miss")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    try TestFile.make(origin.files.appending(path: "file.bin"), mebibytes: mebibytes)
    try Data(count: 2000).write(to: origin.files.appending(path: "small.bin"))
    let crowded = directory.appending(path: "crowded")
    try await fill(crowded, origin, report)

    var results: [[FirstByteProbe.Result]] = [[], []]
    // One limit for all rounds: after the first round the cache is at the limit, by its own count.
    let limit = try await usage(crowded) + (48 << 10)
    for round in 0...rounds {
      let empty = directory.appending(path: "empty-\(round)")
      let urls = (0...later).map { origin.url("/file.bin?\(round)-\($0)") }
      for (index, cache) in Measure.inTurns([empty, crowded], round) {
        let result = try FirstByteProbe.start(cache: cache, limit: limit, urls: urls)
        // The first round also fills the system's caches.
        if round > 0 { results[index].append(result) }
      }
      try FileManager.default.removeItem(at: empty)
      sync()
    }
    func record(_ row: Row, _ what: String, _ value: (FirstByteProbe.Result) -> Double) {
      let (empty, crowded) = (results[0].map(value), results[1].map(value))
      report.note(
        "  \(what): in an empty cache \(Measure.spread(empty)) ms, "
          + "among \(count) entries \(Measure.spread(crowded)) ms")
      report.record(row, Measure.ratios(crowded, to: empty))
    }
    record(opening, "just opened", \.opening)
    record(open, "open for a while") { Measure.median($0.later) }
    record(wait, "longest wait", \.longestWait)
  }

  /// Creates the entries, and has the cache measure their size.
  private static func fill(_ cache: URL, _ origin: FileOrigin, _ report: Report) async throws {
    try Command.run(
      Program.own, [FirstByteProbe.command, cache.path, "", origin.url("/small.bin")])
    let shards = cache.appending(path: "entries")
    guard let shard = try FileManager.default.contentsOfDirectory(atPath: shards.path).first,
      let entry = try FileManager.default.contentsOfDirectory(atPath: "\(shards.path)/\(shard)")
        .first
    else { throw Failure("nothing was stored") }
    try Entries.multiply(shards.appending(path: "\(shard)/\(entry)"), count: count, in: cache)
    // The recorded count does not match the directory: at the next write, the cache measures the
    // directory in the background and records the result.
    let record = cache.appending(path: "usage")
    try FileManager.default.removeItem(at: record)
    var configuration = MediaCache.Configuration()
    configuration.limit = try await usage(cache) + (1 << 30)
    let opened = try MediaCache(directory: cache, configuration: configuration)
    guard let url = URL(string: origin.url("/small.bin?measure")) else { throw Failure("no URL") }
    try await opened.prefetch(Resource(url: url))
    var (last, quiet) = (Data(), 0)
    while quiet < 100 {
      try await Task.sleep(for: .milliseconds(100))
      let now = try Data(contentsOf: record)
      quiet = now == last ? quiet + 1 : 0
      last = now
    }
    await opened.close()
    sync()
  }

  /// Returns the size of the directory.
  private static func usage(_ cache: URL) async throws -> Int64 {
    let opened = try MediaCache(directory: cache)
    let bytes = try await opened.usage().allocatedBytes
    await opened.close()
    return bytes
  }
}
