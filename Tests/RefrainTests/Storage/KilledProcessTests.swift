// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Promise 4: after `kill -9` at any instant, no byte is wrong, and at most the last 256 KiB
/// received are fetched again.
@Suite(.timeLimit(.minutes(TestSeed.minutes(3))))
struct KilledProcessTests {
  private static let kills = TestSeed.isSoak ? 1000 : 56
  private static let length: Int64 = 5_000_011

  @Test(arguments: ["prefetch", "read"])
  func `A killed process loses at most 256 KiB`(_ mode: String) async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("aKilledProcessLosesAtMostTheLastBytes(\(mode)): seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let origin = try await OriginServer.start()
    let directory = TestCache.temporaryDirectory()
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    var killed = 0
    var file = 0
    var mostLost: Int64 = 0
    while killed < Self.kills / 2 {
      file += 1
      let path = "/\(mode)-\(file).wav"
      var resource = OriginResource.synthetic(seed: UInt64(file), length: Self.length)
      resource.bytesPerSecond = 24 << 20
      origin.serve(resource, at: path)
      let url = origin.url(path)
      let bytes = SyntheticBytes(seed: UInt64(file))
      let stored = StoredBytes(directory, url)
      var before = RangeSet<Int64>()
      for _ in 0..<12 where before.byteCount < Self.length && killed < Self.kills / 2 {
        let limit = Int64.random(in: 0...(900 << 10), using: &random)
        let pause = UInt32.random(in: 0...2000, using: &random)
        let run = UInt64.random(in: 0...UInt64.max, using: &random)
        let (received, wasKilled) = try await onThread {
          try Self.kill(mode, directory, url, run, after: limit, pause)
        }
        if wasKilled { killed += 1 }
        let after = try stored.spans()
        let wrong = try stored.firstWrongByte(bytes)
        #expect(wrong == nil, "seed \(seed), \(path)")
        let kept = before.subtracting(after).byteCount
        #expect(kept == 0, "what had outlived one kill was lost by another; seed \(seed), \(path)")
        let lost = received.subtracting(after).byteCount
        mostLost = max(mostLost, lost)
        #expect(lost <= 256 << 10, "seed \(seed), \(path)")
        before = after
      }
      // Stored bytes are played from disk, and only the rest is fetched.
      origin.resetLog(path)
      try await withCache(directory: directory, origin: origin, { $0.trustStored = true }) { test in
        try await #expect(test.read(path) == bytes.bytes(in: 0..<Self.length))
      }
      #expect(origin.log(path).sent.intersection(before).byteCount == 0)
    }
    await origin.stop()
    print("\(mode): killed \(killed) times, at most \(mostLost) bytes lost")
  }

  /// Returns the ranges the child received before it was killed, and whether it was.
  private static func kill(
    _ mode: String, _ directory: URL, _ url: URL, _ seed: UInt64, after limit: Int64,
    _ pause: UInt32
  ) throws -> (RangeSet<Int64>, Bool) {
    let child = try ChildProcess(mode, directory, url, seed)
    var received = RangeSet<Int64>()
    var total: Int64 = 0
    while total <= limit, let chunk = child.nextChunk() {
      received.insert(contentsOf: chunk)
      total += chunk.upperBound - chunk.lowerBound
    }
    // At any point between two chunks, not only right after one.
    usleep(pause)
    child.kill()
    while let chunk = child.nextChunk() { received.insert(contentsOf: chunk) }
    let status = child.wait()
    if status != 0, status != 128 + SIGKILL {
      throw ChildProcess.Failure(description: "the child failed with \(status)")
    }
    return (received, status != 0)
  }
}
