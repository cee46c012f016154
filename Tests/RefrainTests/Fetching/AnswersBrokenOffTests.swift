// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Responses that end early, pause, or trickle.
@Suite(.timeLimit(.minutes(1))) struct AnswersBrokenOffTests {
  private let length: Int64 = 1_000_003
  private let bytes = SyntheticBytes(seed: 7)
  private var resource: OriginResource { .synthetic(seed: 7, length: length) }

  @Test func `A fetch resumes at the exact byte where its connection dropped`() async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.first(1), .drop(at: .body(5000))))
      try await #expect(test.read("/a", 0..<60_000) == bytes.bytes(in: 0..<60_000))
      let log = test.origin.log("/a")
      #expect(log.requests.prefix(2).map(\.request.range) == ["bytes=0-65535", "bytes=5000-65535"])
      #expect(log.bytesSentTwice == 0)
    }
  }

  @Test func `A read survives connections that are reset`() async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.first(5), .drop(at: .body(30_000), reset: true)))
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
    }
  }

  @Test func `A request without a response is retried up to the attempt limit`() async throws {
    try await withCache({ $0.retry.attempts = 4 }) { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.first(3), .closeWithoutAnswer))
      try await #expect(test.read("/a", 0..<10) == bytes.bytes(in: 0..<10))
      #expect(test.origin.log("/a").requests.count == 4)
    }
    // New connections only: on a reused connection, the transport may resend a request by itself.
    try await withCache({ $0.retry.attempts = 4 }) { test in
      test.origin.serve(resource, at: "/b")
      test.origin.script("/b", .on(.all, .closeWithoutAnswer))
      await expectError(.unreachable) { try await test.read("/b", 0..<10) }
      #expect(test.origin.log("/b").requests.count == 4)
    }
  }

  @Test
  func `A stalled response is abandoned, and the fetch resumes where it stalled`() async throws {
    try await withCache({ $0.silenceTimeout = .milliseconds(200) }) { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.first(1), .stall(at: .body(7000))))
      try await #expect(test.read("/a", 0..<60_000) == bytes.bytes(in: 0..<60_000))
      let ranges = test.origin.log("/a").requests.map(\.request.range)
      #expect(ranges.prefix(2) == ["bytes=0-65535", "bytes=7000-65535"])
    }
  }

  @Test func `An origin that never responds is reported as unreachable`() async throws {
    try await withCache({
      $0.responseTimeout = .milliseconds(150)
      $0.retry.attempts = 2
    }) { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.all, .delay(nil)))
      await expectError(.unreachable) { try await test.read("/a", 0..<10) }
    }
  }

  @Test func `A slowly sent body is read with one request`() async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.first(1), .dribble(bytesPerSecond: 60_000)))
      try await #expect(test.read("/a", 0..<30_000) == bytes.bytes(in: 0..<30_000))
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  @Test func `A shorter range than requested is used, and the rest is requested`() async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.first(20), .atMost(1000)))
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      #expect(test.origin.log("/a").bytesSentTwice == 0)
    }
  }

  @Test func `A read survives a body that is shorter than declared`() async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script(
        "/a",
        .on(.number(1), .truncatedBody(to: 900), .chunked)
          .on(.number(2), .wrongContentLength(by: 77)))
      try await #expect(test.read("/a", 0..<60_000) == bytes.bytes(in: 0..<60_000))
    }
  }

  @Test func `Bytes beyond the range of a response are discarded`() async throws {
    try await withCache { test in
      let junk = [UInt8](repeating: 0xEE, count: 5000)
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.first(3), .atMost(1000), .extendedBody(junk), .chunked))
      try await #expect(test.read("/a", 0..<60_000) == bytes.bytes(in: 0..<60_000))
    }
  }

  @Test func `Bytes beyond the length of the resource are discarded`() async throws {
    try await withCache { test in
      let junk = [UInt8](repeating: 0xEE, count: 5000)
      test.origin.serve(.synthetic(seed: 7, length: 30_000), at: "/a")
      test.origin.script("/a", .on(.all, .extendedBody(junk), .chunked))
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<30_000))
    }
  }

  @Test func `A body without a length that ends early does not end the resource`() async throws {
    try await withCache({ $0.retry.attempts = 3 }) { test in
      test.origin.serve(.synthetic(seed: 7, length: 200_000), at: "/a")
      try await #expect(test.read("/a", 0..<10) == bytes.bytes(in: 0..<10))
      // The length is known. From now on every 200 ends before it, always at the same byte.
      test.origin.script("/a", .on(.all, .ignoreRange, .truncatedBody(to: 70_000), .chunked))
      await expectError(.unreachable) { try await test.read("/a", 100_000..<100_010) }
      #expect(test.origin.log("/a").requests.count < 20)
    }
  }

  // MARK: An origin that cuts each of its responses

  /// Reads a resource whose responses each end after `cut` bytes.
  ///
  /// - Returns: the delays of its retries, and its requests.
  private func delays(
    length: Int64, cut: Int64
  ) async throws -> (delays: [Duration], requests: Int) {
    var delays: [Duration] = []
    var requests = 0
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, .drop(at: .body(cut))))
      let events = test.cache.events(includingTraffic: false)
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      #expect(test.origin.log("/a").bytesSentTwice == 0)
      requests = test.origin.log("/a").requests.count
      await test.cache.close()
      for await case .retrying(_, _, let delay) in events { delays.append(delay) }
    }
    return (delays, requests)
  }

  @Test func `Each retry after progress is sent at once`() async throws {
    let (delays, requests) = try await delays(length: 3 << 20, cut: 30_000)
    #expect(delays.count > 50 && delays.allSatisfy { $0 == .zero })
    // What is cut at the end of a request is no retry.
    #expect((100...130).contains(requests), "\(requests)")
  }

  @Test func `Responses that bring a few bytes each are not asked for in a tight loop`()
    async throws
  {
    let (delays, requests) = try await delays(length: 12, cut: 1)
    #expect(requests == 12 && delays.count == 11)
    #expect(delays.allSatisfy { $0 == .milliseconds(1) })
  }

  @Test func `A failure without progress is still followed by a delay`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: 100_000), at: "/a")
      test.origin.script(
        "/a", .on(.number(1), .drop(at: .body(30_000))).on(.number(2), .closeWithoutAnswer))
      let events = test.cache.events(includingTraffic: false)
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<100_000))
      await test.cache.close()
      var delays: [Duration] = []
      for await case .retrying(_, _, let delay) in events { delays.append(delay) }
      #expect(delays.first == .zero && delays.dropFirst().allSatisfy { $0 > .zero })
    }
  }
}
