// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The peak of memory while 4 GiB stream through the cache.
enum StreamingMemory {
  static let length: Int64 = 4 << 30

  static func run() async throws {
    let directory = Measure.temporaryDirectory("memory")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try OriginProcess(length: length)
    defer { origin.stop() }
    var configuration = Configuration()
    configuration.limit = nil
    let cache = try MediaCache(directory: directory, configuration: configuration)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    let reader = try await cache.open(Resource(url: origin.url))
    _ = try await reader.read(into: buffer, at: 0)
    Measure.resetPeak()
    let idle = Measure.status("VmRSS")
    var offset: Int64 = 0
    while true {
      let count = try await reader.read(into: buffer, at: offset)
      if count == 0 { break }
      offset += Int64(count)
    }
    let peak = Measure.status("VmHWM")
    print(
      "memory: \(offset >> 20) MiB streamed; \(idle / 1024) MiB before, peak "
        + "\(peak / 1024) MiB: \((peak - idle) / 1024) MiB above idle  (goal 64)")
    reader.cancel()
    await cache.close()
  }
}
