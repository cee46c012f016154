// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// A file that is not stored yet, read through `MediaReader`, and by the transport alone, whose bytes
/// are thrown away.
enum ColdReading {
  static let length: Int64 = 512 << 20

  static func run() async throws {
    let file = Measure.temporaryDirectory("origin")
    defer { try? FileManager.default.removeItem(at: file) }
    FileManager.default.createFile(atPath: file.path, contents: nil)
    let handle = try FileHandle(forWritingTo: file)
    let block = Data((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    for _ in 0..<(length >> 20) { try handle.write(contentsOf: block) }
    try handle.close()
    let origin = try OriginProcess(length: length, file: file)
    defer { origin.stop() }
    var ratios: [Double] = []
    var peers: [Double] = []
    var fetchRatios: [Double] = []
    for round in 0..<7 {
      let peer = try await Measure.seconds { try await discard(origin.url) }
      let ours = try await cold(origin.url) { try await readAll($0, origin.url) }
      let fetched = try await cold(origin.url) { cache in
        try await cache.prefetch(Resource(url: origin.url))
      }
      if round < 1 { continue }
      peers.append(peer)
      ratios.append(peer / ours)
      fetchRatios.append(peer / fetched)
    }
    let speed = Measure.gibibytesPerSecond(length, Measure.median(peers))
    print("cold: the transport alone \(String(format: "%.2f", speed)) GiB/s")
    print("cold: MediaReader.read(into:) to it  \(Measure.spread(ratios))  (goal 0.95)")
    print("cold: prefetch to it                 \(Measure.spread(fetchRatios))")
  }

  private static func discard(_ url: URL) async throws {
    #if os(Linux)
      let transport = CurlTransport()
    #else
      let transport = URLSessionTransport()
    #endif
    var count: Int64 = 0
    for try await chunk in try await transport.send(OriginRequest(url: url)).body {
      count += Int64(chunk.count)
    }
    guard count == length else { throw CocoaError(.fileReadUnknown) }
  }

  private static func cold(
    _ url: URL, _ body: (MediaCache) async throws -> Void
  ) async throws -> Double {
    let directory = Measure.temporaryDirectory("cold")
    var configuration = Configuration()
    configuration.limit = nil
    let cache = try MediaCache(directory: directory, configuration: configuration)
    let seconds = try await Measure.seconds { try await body(cache) }
    await cache.close()
    try FileManager.default.removeItem(at: directory)
    // What one round left to the disk is not the next one's burden.
    sync()
    return seconds
  }

  private static func readAll(_ cache: MediaCache, _ url: URL) async throws {
    let reader = try await cache.open(Resource(url: url))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < length {
      let count = try await reader.read(into: buffer, at: offset)
      guard count > 0 else { throw CocoaError(.fileReadUnknown) }
      offset += Int64(count)
    }
    reader.cancel()
  }
}
