// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Measures the bytes that the origin sends for a listener who seeks often, over the bytes that are
/// read, by the log of the origin's server.
enum SeekWaste: Benchmark {
  static let name = "seek"
  private static let mebibytes = 256
  private static let jumps = 100
  private static let run: Int64 = 256 << 10

  private static let waste = Row(
    "\(jumps) jumps, 256 KiB read after each: origin's bytes ÷ bytes read", .atMost(1.15))
  static let rows = [waste]

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("seek")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    try TestFile.make(origin.files.appending(path: "file.bin"), mebibytes: mebibytes)
    guard let url = URL(string: origin.url("/file.bin")) else { throw Failure("no address") }
    let cache = try MediaCache(directory: directory.appending(path: "cache"))
    let reader = try await cache.open(Resource(url: url))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 4096)
    defer { buffer.deallocate() }
    var read: Int64 = 0
    // Each seek goes to a mebibyte of its own, so that no read is stored already.
    for place in (0..<Int64(mebibytes)).shuffled().prefix(jumps) {
      var offset = (place << 20) + Int64.random(in: 0..<((1 << 20) - run))
      let end = offset + run
      while offset < end {
        let rest = UnsafeMutableRawBufferPointer(
          rebasing: buffer[..<Int(min(end - offset, Int64(buffer.count)))])
        let count = try await reader.read(into: rest, at: offset)
        guard count > 0 else { throw Failure("the reader ends at \(offset)") }
        offset += Int64(count)
        read += Int64(count)
      }
    }
    reader.cancel()
    await cache.close()
    let (sent, requests) = try await origin.settledBytes("/file.bin")
    report.note("  \(read >> 20) MiB read, \(sent >> 20) MiB sent in \(requests) requests")
    report.record(waste, Double(sent) / Double(read))
  }
}
