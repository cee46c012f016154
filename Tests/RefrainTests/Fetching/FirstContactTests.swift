// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain
@testable import TestSupport

/// Before the first byte, a waiting reader receives an error soon; during playback, an outage is
/// waited out.
@Suite(.timeLimit(.minutes(1))) struct FirstContactTests {
  private let length: Int64 = 300_007
  private let bytes = SyntheticBytes(seed: 7)
  private var resource: OriginResource { .synthetic(seed: 7, length: length) }

  @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
  func `A first request that fails with a transient status is retried once`(
    _ status: Int
  ) async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.all, .status(status)))
      await expectError(.status, status: status) { try await test.read("/a", 0..<10) }
      #expect(test.origin.log("/a").requests.count == 2)
      test.origin.script("/a", .on(.first(1), .status(status)))
      try await #expect(test.read("/a", 0..<10) == bytes.bytes(in: 0..<10))
    }
  }

  @Test func `A first request is not retried after a long Retry-After`() async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.all, .unavailable(.seconds(3600))))
      await expectError(.status, status: 503) { try await test.read("/a", 0..<10) }
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  @Test
  func `A prefetch that has received bytes retries through a transient status`() async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script(
        "/a", .on(.where { (2...5).contains($0.number) }, .unavailable()))
      try await test.cache.prefetch(Resource(url: test.origin.url("/a")))
      try await #expect(test.settledLog("/a").distinctBytesSent == length)
    }
  }

  @Test func `A first connection that is refused is retried once`() async throws {
    try await withCache { test in
      let url = try #require(URL(string: "http://127.0.0.1:\(try RawServer.deafPort())/"))
      let events = test.cache.events(includingTraffic: false)
      let reader = try await test.cache.open(Resource(url: url))
      let error = await expectError(.unreachable) { try await reader.bytes(in: 0..<10) }
      #expect(error?.reason.contains("refused") == true)
      #expect(error?.remedy.contains("port") == true)
      reader.cancel()
      await test.cache.close()
      var retries = 0
      for await event in events { if case .retrying = event { retries += 1 } }
      #expect(retries == 1)
    }
  }

  @Test(arguments: [TransportError.Code.unknownHost, .untrusted, .malformed])
  func `A permanent transport error fails without a retry`(
    _ code: TransportError.Code
  ) async throws {
    let transport = ScriptedTransport { _ in throw TransportError(code, "It is so.") }
    try await withTransport(transport) { cache in
      let reader = try await cache.open(Resource(url: #require(URL(string: "http://h/a"))))
      let error = await #expect(throws: MediaCacheError.self) {
        try await reader.bytes(in: 0..<10)
      }
      #expect(error?.reason == "It is so." && error?.remedy.isEmpty == false)
      #expect(error?.remedy.contains("network") == false)
      #expect(transport.requests.count == 1)
      reader.cancel()
    }
  }

  @Test(arguments: [TransportError.Code.unknownHost, .untrusted, .malformed, .refused])
  func `A reader that has received bytes retries after transport errors`(
    _ code: TransportError.Code
  ) async throws {
    let memory = MemoryTransport(seed: 7, length: 300_007)
    let count = Atomic(0)
    let transport = ScriptedTransport { request in
      let number = count.add(1, ordering: .relaxed).newValue
      if (2...5).contains(number) { throw TransportError(code, "For a while.") }
      return try await memory.send(request)
    }
    try await withTransport(transport) { cache in
      let reader = try await cache.open(Resource(url: #require(URL(string: "http://h/a"))))
      _ = try await reader.bytes(in: 0..<10)
      let all = try await reader.bytes(in: 0..<length)
      #expect(Array(all) == bytes.bytes(in: 0..<length))
      reader.cancel()
    }
  }
}
