// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Measures opening a directory of 100,000 entries and reading the first byte of one, over the same
/// in a directory with that entry alone.
enum LargeDirectory: Benchmark {
  static let name = "open"
  private static let count = 100_000

  private static let more = Row(
    "open a cache of \(count) entries and read a byte of one, more than where it is alone",
    .atMost(50), unit: "ms")
  static let rows = [more]

  static func run(_ report: Report) async throws {
    let folder = Measure.temporaryDirectory("open")
    defer { try? FileManager.default.removeItem(at: folder) }
    let origin = try FileOrigin(in: folder)
    defer { origin.stop() }
    try Data(count: 2000).write(to: origin.files.appending(path: "file.bin"))
    guard let url = URL(string: origin.url("/file.bin")) else { throw Failure("no address") }
    let (directory, resource) = (folder.appending(path: "cache"), Resource(url: url))
    let cache = try MediaCache(directory: directory)
    try await cache.prefetch(resource)
    guard let file = try await cache.completeFile(for: cache.key(for: resource)) else {
      throw Failure("the file is not complete")
    }
    await cache.close()
    let alone = try await openings(directory, resource)
    try Entries.multiply(file.deletingLastPathComponent(), count: count, in: directory)
    sync()
    let crowded = try await openings(directory, resource)
    let (one, all) = (Measure.median(alone), Measure.median(crowded))
    report.note(String(format: "  alone %.2f ms, among all %.2f ms", one * 1000, all * 1000))
    report.record(more, crowded.map { ($0 - one) * 1000 })
  }

  private static func openings(_ directory: URL, _ resource: Resource) async throws -> [Double] {
    var times: [Double] = []
    for _ in 0..<9 {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 16)
      defer { buffer.deallocate() }
      var cache: MediaCache?
      times.append(
        try await Measure.seconds {
          let opened = try MediaCache(directory: directory)
          let reader = try await opened.open(resource)
          _ = try await reader.read(into: buffer, at: 0)
          reader.cancel()
          cache = opened
        })
      await cache?.close()
    }
    return times
  }
}
