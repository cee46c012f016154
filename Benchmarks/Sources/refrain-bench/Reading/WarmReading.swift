// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Measures a stored file read from start to end through `MediaReader`, over pread(2).
enum WarmReading: Benchmark {
  static let name = "warm"
  private static let mebibytes = 512
  private static let rounds = 9
  private static let block = 1 << 20

  private static let reading = Row(
    "\(mebibytes) MiB warm, MediaReader.read(into:) ÷ pread(2), speed", .atLeast(0.9))
  private static let chunks = Row(
    "\(mebibytes) MiB warm, MediaReader.chunks() ÷ pread(2), speed", .atLeast(0.95))
  static let rows = [reading, chunks]

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("warm")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    try TestFile.make(origin.files.appending(path: "file.bin"), mebibytes: mebibytes)
    guard let url = URL(string: origin.url("/file.bin")) else { throw Failure("no address") }
    var configuration = MediaCache.Configuration()
    configuration.limit = nil
    let cache = try MediaCache(
      directory: directory.appending(path: "cache"), configuration: configuration)
    let resource = Resource(url: url)
    try await cache.prefetch(resource)
    guard let file = try await cache.completeFile(for: cache.key(for: resource)) else {
      throw Failure("the file is not complete")
    }
    let reader = try await cache.open(resource)
    let length = Int64(mebibytes) << 20
    var times = [[Double]](repeating: [], count: 3)
    for round in 0...rounds {
      for (index, _) in Measure.inTurns(Array(times.indices), round) {
        let seconds = try await Measure.seconds {
          switch index {
          case 0: try readRaw(file, length: length)
          case 1: try await read(reader, length: length)
          default: try await readChunks(reader, length: length)
          }
        }
        // The first round fills the system's caches.
        if round > 0 { times[index].append(seconds) }
      }
    }
    reader.cancel()
    await cache.close()
    let speed = Measure.gibibytesPerSecond(length, Measure.median(times[0]))
    report.note(String(format: "  pread(2) of 1 MiB blocks: %.2f GiB/s", speed))
    report.record(reading, Measure.ratios(times[0], to: times[1]))
    report.record(chunks, Measure.ratios(times[0], to: times[2]))
  }

  private static func readRaw(_ file: URL, length: Int64) throws {
    let descriptor = open(file.path, O_RDONLY)
    guard descriptor >= 0 else { throw Failure("\(file.path) cannot be opened") }
    defer { close(descriptor) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < length {
      let count = pread(descriptor, buffer.baseAddress, block, off_t(offset))
      guard count > 0 else { throw Failure("\(file.path) ends at \(offset)") }
      offset += Int64(count)
    }
  }

  /// Reads the whole file in blocks of 1 MiB.
  static func read(_ reader: MediaReader, length: Int64) async throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < length {
      let count = try await reader.read(into: buffer, at: offset)
      guard count > 0 else { throw Failure("the reader ends at \(offset)") }
      offset += Int64(count)
    }
  }

  private static func readChunks(_ reader: MediaReader, length: Int64) async throws {
    var count: Int64 = 0
    for try await chunk in reader.chunks() { count += Int64(chunk.count) }
    guard count == length else { throw Failure("the chunks end at \(count)") }
  }
}
