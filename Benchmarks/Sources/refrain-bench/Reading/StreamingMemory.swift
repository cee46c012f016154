// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Measures the peak of memory while 4 GiB stream through the cache.
enum StreamingMemory: Benchmark {
  static let name = "memory"
  private static let length: Int64 = 4 << 30

  private static let peak = Row(
    "peak memory while 4 GiB stream through MediaReader, over idle", .atMost(64), unit: "MiB",
    digits: 0)
  static let rows = [peak]

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("memory")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    let file = origin.files.appending(path: "file.bin")
    // Of zeros, without blocks.
    guard FileManager.default.createFile(atPath: file.path, contents: nil),
      truncate(file.path, off_t(length)) == 0, let url = URL(string: origin.url("/file.bin"))
    else { throw Failure("\(file.path) cannot be made") }
    var configuration = MediaCache.Configuration()
    configuration.limit = nil
    let cache = try MediaCache(
      directory: directory.appending(path: "cache"), configuration: configuration)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    let reader = try await cache.open(Resource(url: url))
    _ = try await reader.read(into: buffer, at: 0)
    Memory.resetPeak()
    let idle = Memory.resident()
    try await WarmReading.read(reader, length: length)
    report.record(peak, (Memory.peak() - idle) / Double(1 << 20))
    reader.cancel()
    await cache.close()
  }
}
