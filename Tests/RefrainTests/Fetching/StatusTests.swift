// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Statuses other than 200 and 206.
@Suite(.timeLimit(.minutes(1))) struct StatusTests {
  private let length: Int64 = 300_007
  private let bytes = SyntheticBytes(seed: 7)
  private var resource: OriginResource { .synthetic(seed: 7, length: length) }

  @Test(arguments: [401, 404, 410, 451])
  func `A permanent error status is reported without a retry`(_ status: Int) async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.all, .status(status)))
      await expectError(.status, status: status) { try await test.read("/a", 0..<10) }
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  @Test func `A 203 is stored like a 200`() async throws {
    try await withCache { test in
      var plain = resource
      plain.supportsRanges = false
      test.origin.serve(plain, at: "/a")
      test.origin.script("/a", .on(.all, .statusLine(203)))
      for range: ByteRange in [0..<length, 200_000..<200_010] {
        try await #expect(test.read("/a", range) == bytes.bytes(in: range))
      }
      let log = try await test.settledLog("/a")
      #expect(log.requests.count { $0.status == 203 } == 1)
    }
  }

  @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
  func `A playing reader retries through a transient error status`(_ status: Int) async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<10)) == bytes.bytes(in: 0..<10))
      let before = try await test.settledLog("/a").requests.count
      test.origin.script("/a", .on(.first(3), .status(status)))
      try await #expect(
        Array(reader.bytes(in: 200_000..<200_010)) == bytes.bytes(in: 200_000..<200_010))
      #expect(test.origin.log("/a").requests.count >= before + 4)
    }
  }

  @Test func `A transient status that persists is reported after the last attempt`() async throws {
    try await withCache({ $0.retry.attempts = 3 }) { test in
      test.origin.serve(resource, at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<10)
      let before = try await test.settledLog("/a").requests.count
      test.origin.script("/a", .on(.all, .unavailable()))
      await expectError(.status, status: 503) { try await reader.bytes(in: 200_000..<200_010) }
      #expect(test.origin.log("/a").requests.count == before + 3)
    }
  }

  @Test func `Retry-After is respected up to the longest wait`() async throws {
    try await withCache({ $0.retry.longestDelay = .milliseconds(300) }) { test in
      test.origin.serve(resource, at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<10)
      let before = try await test.settledLog("/a").requests.count
      test.origin.script(
        "/a",
        .on(.number(1), .unavailable(.seconds(3600)))
          .on(.number(2), .tooManyRequests(.date(Date(timeIntervalSinceNow: 3600))))
          .on(.number(3), .tooManyRequests(.seconds(0))))
      let start = ContinuousClock.now
      let far: ByteRange = 200_000..<200_010
      try await #expect(Array(reader.bytes(in: far)) == bytes.bytes(in: far))
      let taken = ContinuousClock.now - start
      #expect(taken >= .milliseconds(600))
      #expect(test.origin.log("/a").requests.count == before + 4)
    }
  }

  @Test func `A reader continues with correct bytes after an error in the middle`() async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      try await #expect(test.read("/a", 0..<1000) == bytes.bytes(in: 0..<1000))
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
      test.origin.script("/a", .on(.first(1), .status(404)))
      await expectError(.status, status: 404) { try await reader.bytes(in: 200_000..<200_010) }
      // The reader continues once the origin responds.
      try await #expect(Array(reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
    }
  }

  @Test func `A read continues when the origin is reachable again`() async throws {
    try await withCache({
      $0.retry.attempts = 1_000_000
      $0.retry.longestDelay = .milliseconds(5)
    }) { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.first(1), .stall(at: .body(10_000))))
      async let read = test.read("/a")
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      await test.origin.stopListening()
      try await eventually("the origin is back") {
        do { try await test.origin.resumeListening() } catch { return false }
        return true
      }
      try await #expect(read == bytes.bytes(in: 0..<length))
    }
  }
}
