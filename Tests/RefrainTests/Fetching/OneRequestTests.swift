// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// The request that revalidates stored bytes also brings the reader's next bytes, and every
/// received byte is used: never two requests for one use.
@Suite(.timeLimit(.minutes(1))) struct OneRequestTests {
  private let length: Int64 = 50_007

  private func bytes(_ seed: UInt64) -> [UInt8] { SyntheticBytes(seed: seed).bytes(in: 0..<length) }

  /// The validators of a resource.
  enum Witness: CaseIterable, Sendable {
    case strong, weak, date, none
  }

  private func resource(
    _ witness: Witness, _ seed: UInt64, _ change: (inout OriginResource) -> Void = { _ in }
  ) -> OriginResource {
    var resource = OriginResource(
      .synthetic(seed: seed, length: length), headers: [Field("Cache-Control", "no-cache")])
    switch witness {
    case .strong: resource.etag = "\"\(seed)\""
    case .weak: resource.etag = "W/\"\(seed)\""
    case .date: resource.lastModified = Date(timeIntervalSince1970: 1_000_000 + Double(seed))
    case .none: break
    }
    change(&resource)
    return resource
  }

  /// Stores a range under one cache, then opens another over the same directory.
  private func stored(
    _ resource: OriginResource, _ range: ByteRange? = nil,
    _ body: (TestCache) async throws -> Void
  ) async throws {
    try await withCache({ $0.firstRequest = 20_000 }) { test in
      test.origin.serve(resource, at: "/a")
      _ = try await test.read("/a", range)
      await test.cache.close()
      test.origin.resetLog("/a")
      try await test.reopened({ _ in }, body)
    }
  }

  @Test func `An entry without validators takes one request per read`() async throws {
    try await stored(resource(.none, 1)) { test in
      for seed in [1, 2, 2] as [UInt64] {
        test.origin.serve(resource(.none, seed), at: "/a")
        test.origin.resetLog("/a")
        try await #expect(test.read("/a") == bytes(seed))
        let log = try await test.settledLog("/a")
        #expect(log.requests.map(\.status) == [206])
        #expect(log.bodyBytesSent == length)
      }
    }
  }

  @Test(arguments: Witness.allCases)
  func `A changed resource takes one request`(_ witness: Witness) async throws {
    try await stored(resource(witness, 1)) { test in
      test.origin.serve(resource(witness, 2), at: "/a")
      try await #expect(test.read("/a") == bytes(2))
      let log = try await test.settledLog("/a")
      #expect(log.requests.count == 1)
      #expect(log.bodyBytesSent == length)
    }
  }

  @Test(arguments: Witness.allCases)
  func `A changed resource takes one request even without range support`(
    _ witness: Witness
  ) async throws {
    for isPartial in [false, true] {
      try await stored(resource(witness, 1), isPartial ? 0..<20_000 : nil) { test in
        test.origin.serve(resource(witness, 2) { $0.supportsRanges = false }, at: "/a")
        for _ in 0..<10 {
          test.origin.resetLog("/a")
          try await #expect(test.read("/a") == bytes(2))
          let log = try await test.settledLog("/a")
          #expect(log.requests.count == 1, "\(log.requests.map { $0.status })")
        }
      }
    }
  }

  /// The origin knows neither If-None-Match nor If-Modified-Since, and responds with the range.
  @Test(arguments: [Witness.strong, .weak, .date])
  func `An origin that ignores conditional fields receives one request`(
    _ witness: Witness
  ) async throws {
    try await stored(resource(witness, 1)) { test in
      test.origin.script(
        "/a",
        .on(
          .all,
          .answerFrom(resource(.none, 1)),
          .header("ETag", resource(witness, 1).etag),
          .header(
            "Last-Modified", resource(witness, 1).lastModified.map { HTTPDate.format($0) })))
      try await #expect(test.read("/a") == bytes(1))
      #expect(test.origin.log("/a").requests.map(\.status) == [206])
      // The stored bytes are still valid.
      try await #expect(test.read("/a") == bytes(1))
    }
  }

  @Test(arguments: Witness.allCases)
  func `One request fetches missing bytes and confirms the stored ones`(
    _ witness: Witness
  ) async throws {
    try await stored(resource(witness, 1), 0..<20_000) { test in
      let missing: ByteRange = 30_000..<length
      let all = bytes(1)
      try await #expect(test.read("/a", missing) == Array(all[30_000...]))
      let log = try await test.settledLog("/a")
      #expect(log.requests.map(\.status) == [206])
      if witness == .none { return }
      // The rest is a hole of 10,000 bytes: the stored bytes are kept.
      try await #expect(test.read("/a") == all)
      #expect(log.sent.intersection(RangeSet(0..<20_000)).isEmpty)
    }
  }

  @Test func `The response that reveals a change delivers the missing bytes`() async throws {
    for witness in Witness.allCases where witness != .none {
      try await stored(resource(witness, 1), 0..<20_000) { test in
        test.origin.serve(resource(witness, 2), at: "/a")
        try await #expect(test.read("/a", 30_000..<40_000) == Array(bytes(2)[30_000..<40_000]))
        #expect(test.origin.log("/a").requests.count == 1)
        try await #expect(test.read("/a") == bytes(2))
      }
    }
  }

  @Test(arguments: Witness.allCases)
  func `Content information and a full read take one request together`(
    _ witness: Witness
  ) async throws {
    try await stored(resource(witness, 1)) { test in
      test.origin.serve(resource(witness, 2), at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      let information = try await reader.contentInformation()
      #expect(information.length == length)
      try await #expect(Array(reader.bytes(in: 0..<length)) == bytes(2))
      try await #expect(test.settledLog("/a").requests.count == 1)
    }
  }

  @Test
  func `Readers at several offsets share one confirmation and fetch no byte twice`() async throws {
    try await stored(resource(.strong, 1), 0..<20_000) { test in
      test.origin.script("/a", .on(.number(1), .delay(.milliseconds(50))))
      let all = bytes(1)
      let starts = [0, 5_000, 30_000, 45_000] as [Int64]
      var readers: [MediaReader] = []
      for _ in starts { readers.append(try await test.reader("/a")) }
      try await concurrently(starts.count) { [readers] number in
        defer { readers[number].cancel() }
        let range = starts[number]..<starts[number] + 5_000
        let expected = Array(all[Int(range.lowerBound)..<Int(range.upperBound)])
        try await #expect(Array(readers[number].bytes(in: range)) == expected)
      }
      let log = try await test.settledLog("/a")
      #expect(log.requests.count { $0.request.headers.first("If-None-Match") != nil } <= 1)
      #expect(log.bytesSentTwice == 0)
    }
  }

  @Test func `A read that detects a change is served by the same response`() async throws {
    try await withCache { test in
      let long: Int64 = 600_000
      test.origin.serve(.synthetic(seed: 1, length: long), at: "/a")
      let first = try await test.reader("/a")
      defer { first.cancel() }
      _ = try await first.bytes(in: 0..<1000)
      let unread = try await test.reader("/a")
      defer { unread.cancel() }
      _ = try await test.settledLog("/a")
      test.origin.resetLog("/a")
      test.origin.serve(.synthetic(seed: 2, length: long), at: "/a")
      let new = SyntheticBytes(seed: 2).bytes(in: 0..<long)
      try await #expect(Array(unread.bytes(in: 500_000..<501_000)) == Array(new[500_000..<501_000]))
      try await #expect(Array(unread.bytes(in: 0..<1000)) == Array(new[0..<1000]))
      #expect(test.origin.log("/a").requests.map(\.status) == [200])
    }
  }
}
