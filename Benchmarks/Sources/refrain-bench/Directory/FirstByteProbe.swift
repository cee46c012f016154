// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// A process that opens a cache and misses, for `MissAmongMany`. It prints a line for each miss:
/// the milliseconds to its first byte, and the longest wait for later bytes. The first line
/// includes opening the cache.
enum FirstByteProbe {
  static let command = "--first-byte"

  /// The time that the cache is open before the second miss.
  private static let pause: Duration = .seconds(4)

  struct Result {
    /// Milliseconds from before the opening of the cache to the first byte.
    var opening: Double
    /// Milliseconds to the first byte of each later miss.
    var later: [Double]
    /// The longest wait for the next bytes of a later miss, in milliseconds.
    var longestWait: Double
  }

  static func start(cache: URL, limit: Int64, urls: [String]) throws -> Result {
    let output = try Command.run(Program.own, [command, cache.path, "\(limit)"] + urls).output
    let lines = output.split(separator: "\n").map { line in
      line.split(separator: " ").compactMap { Double($0) }
    }
    guard lines.count == urls.count, lines.allSatisfy({ $0.count == 2 }) else {
      throw Failure("the probe said: \(output)")
    }
    let later = lines.dropFirst()
    return Result(
      opening: lines[0][0], later: later.map { $0[0] }, longestWait: later.map { $0[1] }.max() ?? 0)
  }

  static func run(arguments: [String]) async throws {
    var configuration = MediaCache.Configuration()
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
      let firstByte = Monotonic.now - start
      // Read the rest, so that the next miss finds no room.
      var (last, longest) = (Monotonic.now, 0.0)
      while case let count = try await reader.read(into: buffer, at: offset), count > 0 {
        offset += Int64(count)
        let now = Monotonic.now
        (last, longest) = (now, max(longest, now - last))
      }
      print(String(format: "%.4f %.4f", firstByte * 1000, longest * 1000))
      reader.cancel()
      if opened == nil { try await Task.sleep(for: pause) }
      opened = cache
    }
    await opened?.close()
  }
}
