// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Opening a directory of 100,000 entries and reading the first byte of one, over the same with that
/// one alone.
enum LargeDirectory {
  static let count = 100_000

  static func run() async throws {
    let directory = Measure.temporaryDirectory("open")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try OriginProcess(length: 1 << 20)
    defer { origin.stop() }
    let resource = Resource(url: origin.url)
    let cache = try MediaCache(directory: directory)
    try await cache.prefetch(resource)
    guard let file = try await cache.completeFile(for: cache.key(for: resource)) else {
      return print("open: the file is not complete")
    }
    await cache.close()
    let alone = try await openings(directory, resource)
    try multiply(file.deletingLastPathComponent(), in: directory.appending(path: "entries"))
    sync()
    let crowded = try await openings(directory, resource)
    let more = (Measure.median(crowded) - Measure.median(alone)) * 1000
    print(
      "open: alone \(Measure.spread(alone.map { $0 * 1000 })) ms; among \(count) entries "
        + "\(Measure.spread(crowded.map { $0 * 1000 })) ms: "
        + String(format: "%.2f ms more", more) + "  (goal 50)")
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

  /// Entries that look like others' to the cache, made by linking one's files.
  private static func multiply(_ entry: URL, in entries: URL) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: entry.path)
    for number in 0..<count {
      let tail = String(format: "%08x", number &* 2_654_435_761 & 0xFFFF_FFFF)
      let name = String(repeating: "0", count: 24) + tail
      let directory = entries.appending(path: String(name.suffix(2))).appending(path: name)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      for file in names {
        // Links to one file have a limit (link(2), EMLINK), so that small files are copied.
        let target = directory.appending(path: file).path
        if file.hasSuffix(".json") {
          try FileManager.default.copyItem(atPath: entry.appending(path: file).path, toPath: target)
        } else {
          FileManager.default.createFile(atPath: target, contents: Data(count: 1))
        }
      }
    }
  }
}
