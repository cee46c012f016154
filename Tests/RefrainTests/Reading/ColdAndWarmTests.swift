// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1)))
struct ColdAndWarmTests {
  private let length: Int64 = 3_000_017
  private let bytes = SyntheticBytes(seed: 1)

  @Test
  func `A cold read returns the origin's bytes, and a warm read sends no request`() async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 1, length: length)
      resource.headers.append(Field("Cache-Control", "max-age=3600"))
      test.origin.serve(resource, at: "/a.wav")
      try await #expect(test.read("/a.wav") == bytes.bytes(in: 0..<length))
      let log = try await test.settledLog("/a.wav")
      #expect(log.bodyBytesSent == length)
      #expect(log.bytesSentTwice == 0)
      try await #expect(test.read("/a.wav") == bytes.bytes(in: 0..<length))
      #expect(test.origin.log("/a.wav").requests.count == log.requests.count)
    }
  }

  @Test func `A second cache on the directory reads stored bytes offline`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    origin.serve(.synthetic(seed: 1, length: length), at: "/a.wav")
    try await withCache(directory: directory, origin: origin) { test in
      _ = try await test.read("/a.wav")
    }
    await origin.stop()
    try await withCache(directory: directory, origin: origin, { $0.offline = true }) { test in
      try await #expect(test.read("/a.wav") == bytes.bytes(in: 0..<length))
    }
  }

  @Test func `Eight readers of a cold file fetch it once`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a.wav")
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<8 {
          group.addTask { try await test.read("/a.wav") == bytes.bytes(in: 0..<length) }
        }
        for try await isRight in group { #expect(isRight) }
      }
      try await #expect(test.settledLog("/a.wav").bodyBytesSent == length)
    }
  }

  @Test func `Reading ten bytes far into a file fetches at most 256 KiB`() async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 1, length: 48 << 20)
      resource.bytesPerSecond = 30 << 20
      test.origin.serve(resource, at: "/a.wav")
      let range: ByteRange = 40 << 20..<(40 << 20) + 10
      try await #expect(test.read("/a.wav", range) == bytes.bytes(in: range))
      #expect(test.origin.log("/a.wav").bodyBytesSent <= 256 << 10)
    }
  }
}
