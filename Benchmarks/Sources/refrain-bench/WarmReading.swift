// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// A stored file read from one end to the other through `MediaReader`, and with pread(2).
enum WarmReading {
  static let length: Int64 = 512 << 20
  static let block = 1 << 20

  static func run() async throws {
    let directory = Measure.temporaryDirectory("warm")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try OriginProcess(length: length)
    defer { origin.stop() }
    var configuration = Configuration()
    configuration.limit = nil
    let cache = try MediaCache(directory: directory, configuration: configuration)
    let resource = Resource(url: origin.url)
    try await cache.prefetch(resource)
    guard let file = try await cache.completeFile(for: cache.key(for: resource)) else {
      return print("warm: the file is not complete")
    }
    let reader = try await cache.open(resource)
    var ratios: [Double] = []
    var chunkRatios: [Double] = []
    var raws: [Double] = []
    for round in 0..<9 {
      let raw = try await Measure.seconds { try readRaw(file) }
      let ours = try await Measure.seconds { try await read(reader) }
      let chunked = try await Measure.seconds { try await readChunks(reader) }
      if round < 2 { continue }
      raws.append(raw)
      ratios.append(raw / ours)
      chunkRatios.append(raw / chunked)
    }
    let speed = Measure.gibibytesPerSecond(length, Measure.median(raws))
    print("warm: pread(2) of 1 MiB blocks \(String(format: "%.2f", speed)) GiB/s")
    print("warm: MediaReader.read(into:) to pread  \(Measure.spread(ratios))  (goal 0.90)")
    print("warm: MediaReader.chunks() to pread     \(Measure.spread(chunkRatios))")
    reader.cancel()
    await cache.close()
  }

  private static func readRaw(_ file: URL) throws {
    let descriptor = open(file.path, O_RDONLY)
    guard descriptor >= 0 else { throw CocoaError(.fileReadUnknown) }
    defer { close(descriptor) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < length {
      let count = pread(descriptor, buffer.baseAddress, block, off_t(offset))
      guard count > 0 else { throw CocoaError(.fileReadUnknown) }
      offset += Int64(count)
    }
  }

  private static func read(_ reader: MediaReader) async throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < length {
      let count = try await reader.read(into: buffer, at: offset)
      guard count > 0 else { throw CocoaError(.fileReadUnknown) }
      offset += Int64(count)
    }
  }

  private static func readChunks(_ reader: MediaReader) async throws {
    var count: Int64 = 0
    for try await chunk in reader.chunks() { count += Int64(chunk.count) }
    guard count == length else { throw CocoaError(.fileReadUnknown) }
  }
}
