// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// The cost of reading, for the origin.
@Suite(.timeLimit(.minutes(1))) struct EconomyTests {
  private let length: Int64 = 48 << 20
  private let bytes = SyntheticBytes(seed: 1)

  private func resource(supportsRanges: Bool = true) -> OriginResource {
    var resource = OriginResource.synthetic(seed: 1, length: length)
    resource.supportsRanges = supportsRanges
    return resource
  }

  @Test
  func `A cold read returns the origin's bytes, and a warm read sends no request`() async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 1, length: 3_000_017)
      resource.headers.append(Field("Cache-Control", "max-age=3600"))
      test.origin.serve(resource, at: "/a.wav")
      try await #expect(test.read("/a.wav") == bytes.bytes(in: 0..<3_000_017))
      let log = try await test.settledLog("/a.wav")
      #expect(log.bodyBytesSent == 3_000_017)
      #expect(log.bytesSentTwice == 0)
      try await #expect(test.read("/a.wav") == bytes.bytes(in: 0..<3_000_017))
      #expect(test.origin.log("/a.wav").requests.count == log.requests.count)
    }
  }

  @Test func `Reading ten bytes far into a file fetches at most 256 KiB`() async throws {
    try await withCache { test in
      var resource = resource()
      resource.bytesPerSecond = 30 << 20
      test.origin.serve(resource, at: "/a.wav")
      let range: ByteRange = 40 << 20..<(40 << 20) + 10
      try await #expect(test.read("/a.wav", range) == bytes.bytes(in: range))
      #expect(test.origin.log("/a.wav").bodyBytesSent <= 256 << 10)
    }
  }

  @Test func `A reader that stops after 1 MiB fetches at most 3 MiB`() async throws {
    try await withCache { test in
      test.origin.serve(resource(), at: "/a")
      let reader = try await test.reader("/a")
      let taken = try await reader.play(1 << 20)
      #expect(taken == bytes.bytes(in: 0..<Int64(taken.count)))
      // The player stalls: running requests complete, and no new one is sent.
      let quiet = try await test.origin.wait(for: "/a") { $0.running == 0 }
      #expect(quiet.bodyBytesSent <= 3 << 20)
      reader.cancel()
      try await test.closed()
      let log = test.origin.log("/a")
      #expect(log.bodyBytesSent <= 3 << 20 && log.bytesSentTwice == 0)
    }
  }

  /// Without a reader on the connection, its buffers fill and the origin stops.
  @Test func `A stalled reader pauses the response of an origin without ranges`() async throws {
    let origin = try await OriginServer.start(sendBuffer: 256 << 10)
    try await withCache(origin: origin) { test in
      origin.serve(resource(supportsRanges: false), at: "/a")
      let reader = try await test.reader("/a")
      let part: ByteRange = 0..<1 << 20
      try await #expect(Array(reader.bytes(in: part)) == bytes.bytes(in: part))
      let entry = test.cache.table.openEntries.first
      try await eventually("the fetch pauses") {
        entry?.current?.withState { $0.fetches.values.contains { $0.paused != nil } } == true
      }
      // The window of a reader that has read 1 MiB, and the bytes in sockets: the client's receive
      // buffer may grow to tcp_rmem's 6 MiB.
      #expect(entry?.current.map { $0.withState { $0.stored.byteCount } } ?? .max <= 3 << 20)
      #expect(origin.log("/a").bodyBytesSent <= 12 << 20)
      // The response continues when the reader does.
      let next: ByteRange = 8 << 20..<(8 << 20) + 100
      try await #expect(Array(reader.bytes(in: next)) == bytes.bytes(in: next))
      reader.cancel()
      try await origin.wait(for: "/a") { $0.running == 0 }
      #expect(origin.log("/a").bodyBytesSent < length)
    }
    await origin.stop()
  }

  @Test(arguments: [true, false])
  func `Eight readers of a cold file fetch each byte once`(_ supportsRanges: Bool) async throws {
    try await withCache { test in
      let length: Int64 = 8 << 20
      var resource = OriginResource.synthetic(seed: 1, length: length)
      resource.supportsRanges = supportsRanges
      test.origin.serve(resource, at: "/a")
      try await concurrently(8) { _ in
        try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      }
      let log = test.origin.log("/a")
      #expect(log.bodyBytesSent == length && log.bytesSentTwice == 0)
    }
  }

  /// Its bytes come again, because the origin cannot send the missing ones alone.
  @Test func `A stored byte is not written again`() async throws {
    try await withCache { test in
      let length: Int64 = 1 << 20
      var origin = OriginResource.synthetic(seed: 1, length: length)
      test.origin.serve(origin, at: "/a")
      let resource = Resource(url: test.origin.url("/a"))
      try await test.cache.prefetch(resource, range: 400_000..<600_000)
      let stored = try #require(try await test.cache.entry(for: resource.url))
      #expect(stored.spans.contains(500_000))
      let file = try FileHandle(forUpdating: stored.file)
      defer { try? file.close() }
      try file.seek(toOffset: 500_000)
      try file.write(contentsOf: Data("marked".utf8))
      origin.supportsRanges = false
      test.origin.serve(origin, at: "/a")
      test.origin.resetLog("/a")
      _ = try await test.read("/a")
      #expect(test.origin.log("/a").sent.contains(500_000))
      try file.seek(toOffset: 500_000)
      #expect(try file.read(upToCount: 6) == Data("marked".utf8))
    }
  }

  @Test func `A sequential read takes few requests`() async throws {
    try await withCache { test in
      let length: Int64 = 16 << 20
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      _ = try await test.read("/a")
      #expect(test.origin.log("/a").requests.count <= 24)
      #expect(test.origin.log("/a").bytesSentTwice == 0)
    }
  }
}
