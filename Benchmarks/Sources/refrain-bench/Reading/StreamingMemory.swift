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
    let origin = try OriginProcess(length: length)
    defer { origin.stop() }
    var configuration = MediaCache.Configuration()
    configuration.limit = nil
    let cache = try MediaCache(directory: directory, configuration: configuration)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    let reader = try await cache.open(Resource(url: origin.url))
    _ = try await reader.read(into: buffer, at: 0)
    Memory.resetPeak()
    let idle = Memory.resident()
    try await WarmReading.read(reader, length: length)
    report.record(peak, (Memory.peak() - idle) / Double(1 << 20))
    reader.cancel()
    await cache.close()
  }
}
