// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Responses that contradict HTTP, the request or themselves: none of their bytes are kept, and the
/// origin's next response is used.
@Suite(.timeLimit(.minutes(1))) struct AnswersThatAreWrongTests {
  private let length: Int64 = 300_007
  private let bytes = SyntheticBytes(seed: 7)

  /// Faults of ranges alone.
  static let wrongParts: [Fault] = [
    .wrongContentRange(start: 1), .wrongContentRange(start: -1), .wrongContentRange(end: 1),
    .wrongContentRange(end: -1), .wrongContentRange(start: 4096, end: 4096),
    .header("Content-Range", nil), .header("Content-Range", "bytes garbage"), .multipart,
  ]
  static let wrongAnswers: [Fault] = [
    .gzip, .garbage(Array("SSH-2.0-OpenSSH_9\r\n".utf8)), .garbage([0, 255, 0, 255]),
    .status(304),
  ]
  static let wrong = wrongParts + wrongAnswers

  @Test(arguments: wrong.indices) func `A request with an invalid response is repeated`(
    _ index: Int
  ) async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      try await #expect(test.read("/a", 0..<1000) == bytes.bytes(in: 0..<1000))
      test.origin.script("/a", .on(.first(2), Self.wrong[index]))
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
    }
  }

  @Test(arguments: wrongParts.indices)
  func `An origin whose ranges are all invalid is read without one`(_ index: Int) async throws {
    try await withCache({ $0.retry.attempts = 1 }) { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, Self.wrongParts[index]))
      let range: ByteRange = 100_000..<100_010
      try await #expect(test.read("/a", range) == bytes.bytes(in: range))
      #expect(test.origin.log("/a").requests.count == 2)
    }
  }

  /// Responses of which no byte is usable.
  static let fruitless: [[Fault]] =
    wrongAnswers.map { [$0] } + [
      [.status(416)], [.closeWithoutAnswer],
      [.status(416, headers: [Field("Content-Range", "bytes */300007")])],
      [.status(206)], [.status(206, headers: [Field("Content-Range", "bytes */0")])],
      [.truncatedBody(to: 0), .chunked], [.drop(at: .body(0))],
      [.ignoreRange, .drop(at: .body(0))],
    ]

  /// Each at the first byte; where it says nothing of the range, also in the middle.
  static let places: [(index: Int, start: Int64)] =
    fruitless.indices.map { ($0, 0) } + wrongAnswers.indices.map { ($0, 100_000) }

  @Test(arguments: places)
  func `Repeated responses without usable bytes are an error, and nothing is stored`(
    _ index: Int, _ start: Int64
  ) async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, Self.fruitless[index]))
      let error = await #expect(throws: MediaCacheError.self) {
        try await test.read("/a", start..<start + 1000)
      }
      #expect(
        error.map { [.invalidResponse, .unreachable].contains($0.code) || $0.status == 416 } == true
      )
      #expect(error?.remedy.isEmpty == false)
      #expect(test.origin.log("/a").requests.count <= test.configuration.retry.attempts)
      let stored = try await test.cache.entry(for: test.origin.url("/a"))
      #expect(stored?.cachedBytes ?? 0 == 0)
    }
  }

  /// Nothing in the request asks for it (RFC 9110 §12.5.3).
  @Test func `A compressed response is reported without a retry`() async throws {
    try await withCache { test async throws in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, .gzip))
      let error = await expectError(.invalidResponse) { try await test.read("/a") }
      #expect(error?.isEncoded == true && error?.reason.contains("gzip") == true)
      #expect(try await test.settledLog("/a").requests.count == 1)
    }
  }

  @Test(arguments: [nil, "\"seed-7\""])
  func `Another total length under the same ETag, or none, means a changed resource`(
    _ etag: String?
  ) async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 7, length: length)
      resource.etag = etag
      test.origin.serve(resource, at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
      test.origin.script("/a", .on(.all, .wrongContentRange(total: 5)))
      await expectError(.resourceChanged) { try await reader.bytes(in: 200_000..<200_010) }
    }
  }

  @Test(arguments: [Fault.hugeHeaders(bytes: 100 << 10), .informational(103)])
  func `Large heads and interim responses are accepted`(_ fault: Fault) async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, fault))
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
    }
  }
}
