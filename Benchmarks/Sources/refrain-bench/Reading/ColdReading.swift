// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Measures a file that is not stored yet, read through `MediaReader`, over the transport alone,
/// whose bytes are discarded.
enum ColdReading: Benchmark {
  static let name = "cold"
  private static let mebibytes = 512
  private static let rounds = 7
  private static let length = Int64(mebibytes) << 20

  private static let reading = Row(
    "\(mebibytes) MiB cold, MediaReader.read(into:) ÷ the transport alone, speed", .atLeast(0.95))
  private static let fetching = Row(
    "\(mebibytes) MiB cold, MediaCache.prefetch ÷ the transport alone, speed")
  static let rows = [reading, fetching]

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("cold")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    try TestFile.make(origin.files.appending(path: "file.bin"), mebibytes: mebibytes)
    guard let url = URL(string: origin.url("/file.bin")) else { throw Failure("no address") }
    let cache = directory.appending(path: "cache")
    let plain = directory.appending(path: "plain.bin")
    var times = [[Double]](repeating: [], count: 4)
    for round in 0...rounds {
      for (index, _) in Measure.inTurns(Array(times.indices), round) {
        Memory.warmFreePages(Int(length) * 3 / 2)
        let seconds =
          switch index {
          case 0: try await Measure.seconds { try await receive(url) { _ in } }
          case 1: try await cold(cache) { try await readAll($0, url) }
          case 2: try await cold(cache) { _ = try await $0.prefetch(Resource(url: url)) }
          default: try await write(url, to: plain)
          }
        // The first round fills the system's caches.
        if round > 0 { times[index].append(seconds) }
      }
    }
    let speed = Measure.gibibytesPerSecond(length, Measure.median(times[0]))
    report.note(String(format: "  the transport alone: %.2f GiB/s", speed))
    // Where the machine has no processor to spare, writing alone makes the goal unreachable.
    let bound = Measure.median(Measure.ratios(times[0], to: times[3]))
    report.note(String(format: "  the transport, and write(2) of each chunk: %.2f of that", bound))
    report.record(reading, Measure.ratios(times[0], to: times[1]))
    report.record(fetching, Measure.ratios(times[0], to: times[2]))
  }

  private static func receive(_ url: URL, _ use: (Data) throws -> Void) async throws {
    #if os(Linux)
      let transport = CurlTransport()
    #else
      let transport = URLSessionTransport()
    #endif
    var count: Int64 = 0
    for try await chunk in try await transport.send(OriginRequest(url: url)).body {
      count += Int64(chunk.count)
      try use(chunk)
    }
    guard count == length else { throw Failure("the transport delivered \(count) bytes") }
  }

  private static func write(_ url: URL, to plain: URL) async throws -> Double {
    guard FileManager.default.createFile(atPath: plain.path(), contents: nil) else {
      throw Failure("\(plain.path()) could not be made")
    }
    let file = try FileHandle(forWritingTo: plain)
    let seconds = try await Measure.seconds {
      try await receive(url) { try file.write(contentsOf: $0) }
    }
    try file.close()
    try FileManager.default.removeItem(at: plain)
    sync()
    return seconds
  }

  private static func cold(
    _ directory: URL, _ body: (MediaCache) async throws -> Void
  ) async throws -> Double {
    var configuration = MediaCache.Configuration()
    configuration.limit = nil
    let cache = try MediaCache(directory: directory, configuration: configuration)
    let seconds = try await Measure.seconds { try await body(cache) }
    await cache.close()
    try FileManager.default.removeItem(at: directory)
    // Writes that one round leaves to the disk do not burden the next.
    sync()
    return seconds
  }

  private static func readAll(_ cache: MediaCache, _ url: URL) async throws {
    let reader = try await cache.open(Resource(url: url))
    defer { reader.cancel() }
    try await WarmReading.read(reader, length: length)
  }
}
