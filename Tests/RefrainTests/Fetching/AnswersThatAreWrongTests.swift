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

  @Test(arguments: wrongAnswers.indices)
  func `Repeated invalid responses are an error, and nothing is stored`(
    _ index: Int
  ) async throws {
    try await withCache({ $0.retry.attempts = 2 }) { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, Self.wrongAnswers[index]))
      let error = await #expect(throws: MediaCacheError.self) {
        try await test.read("/a", 100_000..<100_010)
      }
      #expect(error.map { [.invalidResponse, .unreachable].contains($0.code) } == true)
      #expect(error?.remedy.isEmpty == false)
      let stored = try await test.cache.entry(for: CacheKey(url: test.origin.url("/a")))
      #expect((stored?.cachedBytes ?? 0) == 0)
    }
  }

  @Test func `A different total length without an ETag means a changed resource`() async throws {
    try await withCache { test in
      var plain = OriginResource.synthetic(seed: 7, length: length)
      plain.etag = nil
      test.origin.serve(plain, at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
      test.origin.script("/a", .on(.all, .wrongContentRange(total: 5)))
      let error = await #expect(throws: MediaCacheError.self) {
        try await reader.bytes(in: 200_000..<200_010)
      }
      #expect(error?.code == .resourceChanged)
    }
  }

  @Test func `A strong ETag with two lengths means a changed resource`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
      test.origin.script("/a", .on(.all, .wrongContentRange(total: 5)))
      let error = await #expect(throws: MediaCacheError.self) {
        try await reader.bytes(in: 200_000..<200_010)
      }
      #expect(error?.code == .resourceChanged)
    }
  }

  @Test func `Response headers of 100 KiB are accepted`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, .hugeHeaders(bytes: 100 << 10)))
      try await #expect(test.read("/a", 0..<1000) == bytes.bytes(in: 0..<1000))
    }
  }

  @Test func `Early Hints responses are skipped`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, .informational(103)))
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
    }
  }
}
