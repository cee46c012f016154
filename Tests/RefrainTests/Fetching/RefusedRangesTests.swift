// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// Origins that have a usable response only to requests without a range: one request more, and one
/// response for all readers.
@Suite(.timeLimit(.minutes(1))) struct RefusedRangesTests {
  private let length: Int64 = 1_000_003
  private let bytes = SyntheticBytes(seed: 7)
  private var resource: OriginResource { .synthetic(seed: 7, length: length) }

  static let refusals: [[Fault]] =
    [400, 403, 405, 416, 501].map { [Fault.status($0)] } + [
      [.header("Content-Range", nil)], [.header("Content-Range", "0-65535/1000003")],
      [.header("Content-Range", "bytes=0-65535/1000003")],
      [.header("Content-Range", "bytes */1000003")],
      [.wrongContentLength(by: 1)],
      [.wrongContentLength(by: 900_000)], [.wrongContentRange(end: 1)], [.multipart],
      [.status(416, headers: [Field("Content-Range", "bytes */1000003")])],
    ]

  /// A script of an origin that does this to each range.
  private func refusing(_ faults: [Fault]) -> FaultScript {
    .on(.where { $0.range != nil }, faults)
  }

  @Test(arguments: refusals.indices)
  func `A resource is read by one response without a range`(_ index: Int) async throws {
    try await withCache { test async throws in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", refusing(Self.refusals[index]))
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      // The end first, as of a film whose index is there.
      for range: ByteRange in [0..<1000, 990_000..<length, 300_000..<400_000, 0..<length] {
        #expect(try await Array(reader.bytes(in: range)) == bytes.bytes(in: range))
      }
      #expect(try await !reader.contentInformation().supportsRanges)
      let ranges = try await test.settledLog("/a").requests.map(\.request.range)
      #expect(ranges.count == 2 && ranges[0] != nil && ranges[1] == nil, "\(ranges)")
    }
  }

  @Test(arguments: refusals.indices)
  func `A first read in the middle skips to its offset`(_ index: Int) async throws {
    try await withCache { test async throws in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", refusing(Self.refusals[index]))
      let middle: ByteRange = 500_000..<500_100
      #expect(try await test.read("/a", middle) == bytes.bytes(in: middle))
      #expect(test.origin.log("/a").requests.count == 2)
    }
  }

  @Test func `Readers at other offsets wait for the response that is arriving`() async throws {
    try await withCache { test async throws in
      test.origin.serve(resource, at: "/a")
      test.origin.script(
        "/a", refusing([.status(403)]).on(.number(2), .stall(at: .body(100_000))))
      let first = try await test.reader("/a")
      defer { first.cancel() }
      // The first response shows that there are no ranges.
      _ = try await first.contentInformation()
      async let start = test.read("/a", 0..<200_000)
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      async let end = test.read("/a", 900_000..<length)
      try await eventually("both are open") {
        test.cache.activity().first?.readers.count == 3
      }
      test.origin.release("/a")
      #expect(try await start == bytes.bytes(in: 0..<200_000))
      #expect(try await end == bytes.bytes(in: 900_000..<length))
      #expect(test.origin.log("/a").requests.map(\.status) == [403, 200])
    }
  }

  @Test func `A response that breaks off is repeated without a range`() async throws {
    try await withCache { test async throws in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", refusing([.status(400)]).on(.number(2), .drop(at: .body(300_000))))
      #expect(try await test.read("/a") == bytes.bytes(in: 0..<length))
      let ranges = try await test.settledLog("/a").requests.map(\.request.range)
      #expect(ranges.count == 3 && ranges[1...].allSatisfy { $0 == nil })
    }
  }

  @Test(arguments: refusals.indices)
  func `A stored resource is confirmed without a range in a later process`(
    _ index: Int
  ) async throws {
    try await withCache { test async throws in
      var stale = resource
      stale.headers = [Field("Cache-Control", "max-age=0")]
      test.origin.serve(stale, at: "/a")
      test.origin.script("/a", refusing(Self.refusals[index]))
      #expect(try await test.read("/a") == bytes.bytes(in: 0..<length))
      for _ in 0..<2 {
        try await test.reopened { later async throws in
          #expect(try await later.read("/a") == bytes.bytes(in: 0..<length))
        }
      }
      #expect(try await test.settledLog("/a").requests.count { $0.status == 200 } == 1)
    }
  }

  @Test(arguments: [400, 403, 405, 416, 501])
  func `A refusal of the resource itself costs one more request`(_ status: Int) async throws {
    try await withCache { test async throws in
      test.origin.script("/a", .on(.all, .status(status)))
      await expectError(.status, status: status) { try await test.read("/a", 0..<10) }
      let ranges = test.origin.log("/a").requests.map(\.request.range)
      #expect(ranges.count == 2 && ranges[0] != nil && ranges[1] == nil)
    }
  }

  @Test(arguments: [400, 403, 405, 501])
  func `An origin that has sent a range is not asked without one`(_ status: Int) async throws {
    func check(_ test: TestCache) async throws {
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      #expect(try await Array(reader.bytes(in: 0..<10)) == bytes.bytes(in: 0..<10))
      let before = try await test.settledLog("/a").requests.count
      test.origin.script("/a", .on(.all, .status(status)))
      await expectError(.status, status: status) {
        try await reader.bytes(in: 900_000..<900_010)
      }
      let ranges = test.origin.log("/a").requests.dropFirst(before).map(\.request.range)
      #expect(ranges.count == 1 && ranges.allSatisfy { $0 != nil }, "\(ranges)")
      test.origin.script("/a", FaultScript())
    }
    try await withCache { test async throws in
      test.origin.serve(resource, at: "/a")
      try await check(test)
      try await test.reopened { try await check($0) }
    }
  }

  @Test func `An invalid part among valid ones is requested again, as a part`() async throws {
    try await withCache { test async throws in
      test.origin.serve(resource, at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      #expect(try await Array(reader.bytes(in: 0..<10)) == bytes.bytes(in: 0..<10))
      let before = try await test.settledLog("/a").requests.count
      test.origin.script("/a", .on(.first(2), .header("Content-Range", nil)))
      let far: ByteRange = 900_000..<900_010
      #expect(try await Array(reader.bytes(in: far)) == bytes.bytes(in: far))
      let log = try await test.settledLog("/a")
      let ranges = log.requests.dropFirst(before).map(\.request.range)
      #expect(ranges.count == 3 && ranges.allSatisfy { $0 != nil })
    }
  }

  // MARK: With an authorization hook

  @Test func `The hook is called once before a 403 is taken for the range's`() async throws {
    let calls = Mutex(0)
    try await withCache({
      $0.authorize = { _, _ in
        calls.withLock { $0 += 1 }
        return nil
      }
    }) { test async throws in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", refusing([.status(403)]))
      #expect(try await test.read("/a") == bytes.bytes(in: 0..<length))
      #expect(calls.withLock { $0 } == 1)
      #expect(test.origin.log("/a").requests.count == 2)
    }
  }

  @Test func `A request that the hook has renewed keeps its range if that helps`() async throws {
    try await withCache({
      $0.authorize = { resource, _ in
        var renewed = resource
        renewed.headers["Authorization"] = "Bearer new"
        return renewed
      }
    }) { test async throws in
      test.origin.serve(resource, at: "/a")
      test.origin.script(
        "/a", .on(.where { $0.headers.first("Authorization") == nil }, .status(403)))
      #expect(try await test.read("/a", 0..<1000) == bytes.bytes(in: 0..<1000))
      #expect(test.origin.log("/a").requests.allSatisfy { $0.request.range != nil })
    }
  }

  @Test func `A request that the hook has renewed in vain is sent without a range`() async throws {
    let calls = Mutex(0)
    try await withCache({
      $0.authorize = { resource, _ in
        calls.withLock { $0 += 1 }
        var renewed = resource
        renewed.headers["Authorization"] = "Bearer \(calls.withLock { $0 })"
        return renewed
      }
    }) { test async throws in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", refusing([.status(403)]))
      #expect(try await test.read("/a") == bytes.bytes(in: 0..<length))
      #expect(calls.withLock { $0 } == 1)
      #expect(test.origin.log("/a").requests.count == 3)
    }
  }
}
