// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Stored bytes are sent by sendfile(2), and from a buffer where that must not be called.
@Suite(.timeLimit(.minutes(2))) struct StoredBytesTests {
  private static let length: Int64 = 3_000_001

  @Test(arguments: [true, false])
  func `Cold and warm responses match the origin, which sends each byte once`(
    sendsFiles: Bool
  ) async throws {
    try await withProxy(proxy: { configuration, _ in
      configuration.sendsFiles = sendsFiles
    }) { test in
      let bytes = SyntheticBytes(seed: 7).bytes(in: 0..<Self.length)
      var resource = OriginResource.synthetic(seed: 7, length: Self.length)
      resource.headers = [Field("Cache-Control", "max-age=3600")]
      test.origin.serve(resource, at: "/a.mp3")
      let piece = Int(Delivery.longestCopy)
      for _ in 0..<3 {
        let reply = try await test.get("/a.mp3")
        #expect(reply.status == 200 && reply.isComplete)
        #expect(reply.body == bytes)
        for range in [0..<1, 7..<piece + 7, piece - 1..<2 * piece + 1, 2_999_999..<3_000_001] {
          let (first, last) = (range.lowerBound, range.upperBound - 1)
          let part = try await test.get("/a.mp3", ["Range: bytes=\(first)-\(last)"])
          #expect(part.status == 206)
          #expect(part["Content-Range"] == "bytes \(first)-\(last)/\(Self.length)")
          #expect(part.body == Array(bytes[range]))
        }
      }
      let log = try await test.settledLog("/a.mp3")
      #expect(log.bodyBytesSent == Self.length && log.bytesSentTwice == 0)
      // A request is reported when its response is over; its client may know that before.
      try await eventually("all are told of") { test.log.all.count == 15 }
      #expect(test.log.all.map(\.source) == [.miss] + Array(repeating: .hit, count: 14))
    }
  }

  @Test(arguments: [true, false])
  func `A client with a small buffer receives every byte and keeps its connection`(
    sendsFiles: Bool
  ) async throws {
    try await withProxy(proxy: { configuration, _ in
      configuration.sendsFiles = sendsFiles
    }) { test in
      let length: Int64 = 8 << 20
      test.origin.serve(.synthetic(seed: 3, length: length), at: "/b.mp3")
      _ = try await test.get("/b.mp3")
      let (target, host) = (try test.target("/b.mp3"), test.host)
      try await test.connect(receiveBuffer: 16_384) { connection in
        for _ in 0..<2 {
          let reply = try await connection.reply(to: target, [], method: "GET", host: host)
          #expect(reply.isComplete)
          #expect(reply.body == SyntheticBytes(seed: 3).bytes(in: 0..<length))
        }
      }
    }
  }
}

/// Resources held open between requests for speed.
@Suite(.timeLimit(.minutes(2))) struct HeldResourceTests {
  private static let length: Int64 = 2 << 20

  @Test func `Resources held open do not keep the cache above its limit`() async throws {
    try await withProxy(cache: { $0.limit = 5 << 20 }) { test in
      // More than one fits beside another; all were requested a moment ago.
      for index in 0..<6 as Range<UInt64> {
        let path = "/\(index).mp3"
        test.origin.serve(.synthetic(seed: index, length: Self.length), at: path)
        let reply = try await test.get(path)
        #expect(reply.body == SyntheticBytes(seed: index).bytes(in: 0..<Self.length))
      }
      #expect(try await test.cache.usage().allocatedBytes <= 5 << 20)
    }
  }

  @Test func `A resource whose stored file was truncated is served correctly`() async throws {
    try await withProxy { test in
      let bytes = SyntheticBytes(seed: 1).bytes(in: 0..<Self.length)
      test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a.mp3")
      for _ in 0..<2 { _ = try await test.get("/a.mp3", ["Range: bytes=0-99"]) }
      _ = try await test.get("/a.mp3")
      let file = try #require(try await test.cache.completeFile(for: test.key("/a.mp3")))
      try #require(truncate(file.path(percentEncoded: false), 1 << 20) == 0)
      for range in [1_500_000..<1_600_000, 0..<100, 0..<Int(Self.length)] {
        let reply = try await test.get(
          "/a.mp3", ["Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
        #expect(areEqual(reply.body, bytes[range]))
      }
    }
  }

  /// The system then has nothing to send, and says so at once, however often it is asked.
  @Test func `A response ends if its file is truncated while it is sent`() async throws {
    try await withProxy(proxy: { configuration, _ in
      // The proxy looks at connections four times in the shortest of its times.
      configuration.headTimeout = .seconds(1)
    }) { test in
      // More than any socket accepts.
      let length: Int64 = 48 << 20
      var resource = OriginResource.synthetic(seed: 1, length: length)
      resource.headers = [Field("Cache-Control", "max-age=3600")]
      test.origin.serve(resource, at: "/a.mp3")
      try await test.cache.prefetch(Resource(url: test.origin.url("/a.mp3")))
      #expect(try await test.get("/a.mp3", ["Range: bytes=0-9"]).body.count == 10)
      let file = try #require(try await test.cache.completeFile(for: test.key("/a.mp3")))
      let request = try test.request(for: "/a.mp3")
      let received = try await test.onSocket(receiveBuffer: 16_384) { client in
        try client.send(request)
        _ = try client.receiveHead()
        try #require(truncate(file.path(percentEncoded: false), 1 << 20) == 0)
        return try client.receiveToEnd().bytes.count
      }
      #expect(received < length)
      try await eventually("it is logged") { test.log.all.count == 2 }
      let logged = try #require(test.log.all.last)
      #expect(logged.source == .hit && logged.bytesSent < length && logged.error == nil)
      #expect(try await test.get("/a.mp3").body.count == length)
    }
  }

  /// As during an upgrade, when the one before still serves its connections.
  ///
  @Test func `A resource removed by another process is requested again`() async throws {
    try await withSuccession { origin, directory in
      func serve(_ seed: UInt64) {
        var resource = OriginResource.synthetic(seed: seed, length: Self.length)
        resource.headers.append(Field("Cache-Control", "max-age=3600"))
        origin.serve(resource, at: "/a.mp3")
      }
      func bytes(_ seed: UInt64) -> [UInt8] {
        SyntheticBytes(seed: seed).bytes(in: 0..<Self.length)
      }
      serve(1)
      try await withProxy(directory: directory, origin: origin) { test async throws in
        #expect(try await test.get("/a.mp3").body == bytes(1))
      }
      serve(2)
      // A proxy that has only read the entry does not keep others from removing it.
      try await withProxy(directory: directory, origin: origin) { test async throws in
        for _ in 0..<2 { #expect(try await test.get("/a.mp3").body == bytes(1)) }
        let other = try MediaCache(directory: directory, configuration: TestProxy.configuration())
        #expect(try await other.remove(test.key("/a.mp3")) != nil)
        await other.close()
        for source in [ServedRequest.Source.miss, .hit] {
          #expect(try await test.get("/a.mp3").body == bytes(2))
          try await eventually("it is recorded") { test.log.all.last?.source == source }
        }
      }
    }
  }

  @Test func `A resource removed from the cache can be requested again`() async throws {
    try await withProxy { test in
      test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a.mp3")
      for _ in 0..<2 { _ = try await test.get("/a.mp3") }
      try await test.cache.remove(test.key("/a.mp3"))
      let reply = try await test.get("/a.mp3")
      #expect(reply.body == SyntheticBytes(seed: 1).bytes(in: 0..<Self.length))
    }
  }
}
