// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// A process that opens a cache and misses, for `MissAmongMany`: prints a line for each miss, with
/// the milliseconds to its first byte. The first one includes the opening of the cache.
enum FirstByteProbe {
  static let command = "--first-byte"

  /// How long the cache is open before the second miss.
  private static let pause: Duration = .seconds(5)

  struct Result {
    /// Milliseconds from before the opening of the cache to the first byte.
    var opening: Double
    /// The misses after that, in milliseconds.
    var later: [Double]
  }

  static func start(cache: URL, limit: Int64, urls: [String]) throws -> Result {
    let output = try Command.run(Program.own, [command, cache.path, "\(limit)"] + urls).output
    let times = output.split(separator: "\n").compactMap { Double($0) }
    guard times.count == urls.count, let first = times.first else {
      throw Failure("the probe said: \(output)")
    }
    return Result(opening: first, later: Array(times.dropFirst()))
  }

  static func run(arguments: [String]) async throws {
    var configuration = Configuration()
    configuration.limit = Int64(arguments[2])
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var opened: MediaCache?
    for url in arguments.dropFirst(3).compactMap({ URL(string: $0) }) {
      let start = Monotonic.now
      let cache =
        try opened
        ?? MediaCache(directory: URL(filePath: arguments[1]), configuration: configuration)
      let reader = try await cache.open(Resource(url: url))
      var offset = Int64(try await reader.read(into: buffer, at: 0))
      print(String(format: "%.4f", (Monotonic.now - start) * 1000))
      // The rest, so that the next one finds no room.
      while case let count = try await reader.read(into: buffer, at: offset), count > 0 {
        offset += Int64(count)
      }
      reader.cancel()
      if opened == nil { try await Task.sleep(for: pause) }
      opened = cache
    }
    await opened?.close()
  }
}
