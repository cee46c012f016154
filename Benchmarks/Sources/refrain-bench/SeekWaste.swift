// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// What a listener who jumps about makes the origin send beyond what is read.
enum SeekWaste {
  static let length: Int64 = 256 << 20

  static func run() async throws {
    let directory = Measure.temporaryDirectory("seek")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try OriginProcess(length: length)
    defer { origin.stop() }
    let cache = try MediaCache(directory: directory)
    let reader = try await cache.open(Resource(url: origin.url))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 4096)
    defer { buffer.deallocate() }
    var random = SystemRandomNumberGenerator()
    let jumps = 100
    for _ in 0..<jumps {
      var offset = Int64.random(in: 0..<(length - (1 << 20)), using: &random)
      let end = offset + (256 << 10)
      while offset < end { offset += Int64(try await reader.read(into: buffer, at: offset)) }
    }
    let statistics = reader.statistics
    reader.cancel()
    await cache.close()
    print(
      "seek: \(jumps) jumps, 256 KiB read after each: \(statistics.bytesRead >> 20) MiB read, "
        + "\(statistics.bytesFromOrigin >> 20) MiB from the origin in \(statistics.requests) requests"
    )
  }
}
