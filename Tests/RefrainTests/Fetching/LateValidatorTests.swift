// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Validators that arrive after the first response, or with some responses only.
@Suite(.timeLimit(.minutes(1))) struct LateValidatorTests {
  private let length: Int64 = 400_003
  private let old = SyntheticBytes(seed: 1)
  private let new = SyntheticBytes(seed: 2)

  private func resource(
    _ seed: UInt64, etag: String? = nil, modified: Double? = nil, control: String = "max-age=3600"
  ) -> OriginResource {
    OriginResource(
      .synthetic(seed: seed, length: length), etag: etag,
      lastModified: modified.map { Date(timeIntervalSince1970: $0) },
      headers: [Field("Cache-Control", control)])
  }

  /// The ranges that one reader reads, each under another of the three responses.
  private let parts: [ByteRange] = [0..<1000, 150_000..<151_000, 300_000..<301_000]

  private static let sequences:
    [(first: (String?, Double?), then: (String?, Double?), last: (String?, Double?))] = [
      ((nil, nil), ("\"v1\"", nil), ("\"v2\"", nil)),
      ((nil, nil), ("W/\"v1\"", nil), ("W/\"v2\"", nil)),
      ((nil, nil), (nil, 1_000_000), (nil, 1_000_001)),
      ((nil, 1_000_000), ("\"v1\"", 1_000_000), ("\"v2\"", 1_000_000)),
      (("W/\"v\"", nil), ("W/\"v\"", 1_000_000), ("W/\"v\"", 1_000_001)),
    ]

  @Test(arguments: sequences.indices)
  func `A reader receives one version although validators are sent late`(
    _ index: Int
  ) async throws {
    let (first, then, last) = Self.sequences[index]
    try await withCache({ $0.firstRequest = 2000 }) { test in
      test.origin.serve(resource(1, etag: first.0, modified: first.1), at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: parts[0])) == old.bytes(in: parts[0]))
      test.origin.serve(resource(1, etag: then.0, modified: then.1), at: "/a")
      try await #expect(Array(reader.bytes(in: parts[1])) == old.bytes(in: parts[1]))
      test.origin.serve(resource(2, etag: last.0, modified: last.1), at: "/a")
      await expectError(.resourceChanged) { try await reader.bytes(in: parts[2]) }
      try await #expect(test.read("/a", parts[2]) == new.bytes(in: parts[2]))
    }
  }

  /// The record says so, too: the second process has seen no response of the first.
  @Test func `A reader of the next process also receives only one version`() async throws {
    try await withCache({ $0.firstRequest = 2000 }) { test in
      test.origin.serve(resource(1), at: "/a")
      let reader = try await test.reader("/a")
      _ = try await reader.bytes(in: parts[0])
      test.origin.serve(resource(1, etag: "\"v1\""), at: "/a")
      _ = try await reader.bytes(in: parts[1])
      reader.cancel()
      test.origin.serve(resource(2, etag: "\"v2\""), at: "/a")
      try await test.reopened({ $0.firstRequest = 2000 }) { later in
        let reader = try await later.reader("/a")
        defer { reader.cancel() }
        // Fresh: no request is sent.
        try await #expect(Array(reader.bytes(in: parts[1])) == old.bytes(in: parts[1]))
        await expectError(.resourceChanged) { try await reader.bytes(in: parts[2]) }
      }
    }
  }

  /// The bytes were stored before the tag was known, and a 304 would not vouch for them.
  @Test func `A late ETag does not confirm bytes stored before it`() async throws {
    try await withCache({ $0.firstRequest = 2000 }) { test in
      test.origin.serve(resource(1, control: "no-cache"), at: "/a")
      let reader = try await test.reader("/a")
      _ = try await reader.bytes(in: parts[0])
      // Another version that no response identifies as another one.
      test.origin.serve(resource(2, etag: "\"v2\"", control: "no-cache"), at: "/a")
      try await #expect(Array(reader.bytes(in: parts[1])) == new.bytes(in: parts[1]))
      reader.cancel()
      try await test.reopened({ $0.firstRequest = 2000 }) { later in
        try await #expect(later.read("/a") == new.bytes(in: 0..<length))
      }
    }
  }

  @Test func `A first validator replaces prefetched bytes that no reader has read`() async throws {
    try await withCache({ $0.firstRequest = 2000 }) { test in
      let resource = Resource(url: test.origin.url("/a"))
      test.origin.serve(self.resource(1), at: "/a")
      try await test.cache.prefetch(resource, range: 0..<1000)
      test.origin.serve(self.resource(2, etag: "\"v2\""), at: "/a")
      try await test.cache.prefetch(resource, range: 150_000..<151_000)
      try await #expect(test.read("/a") == new.bytes(in: 0..<length))
    }
  }

  @Test func `An ETag missing from some responses causes no byte to be sent twice`() async throws {
    for isFirst in [true, false] {
      try await withCache { test in
        test.origin.serve(resource(1, etag: "\"v1\""), at: "/a")
        test.origin.script(
          "/a", .on(.where { ($0.number == 1) != isFirst }, .header("ETag", nil)))
        let reader = try await test.reader("/a")
        defer { reader.cancel() }
        try await #expect(Array(reader.bytes(in: 0..<length)) == old.bytes(in: 0..<length))
        try await #expect(test.settledLog("/a").bytesSentTwice == 0)
      }
    }
  }
}
