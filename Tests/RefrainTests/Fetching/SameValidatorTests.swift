// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// A file is replaced by one of another length, and its validator stays: files that a build dates
/// alike, tags made by hand. The origin sends the new file.
@Suite(.timeLimit(.minutes(1))) struct SameValidatorTests {
  private let old = SyntheticBytes(seed: 1)
  private let new = SyntheticBytes(seed: 2)

  /// - Parameter field: the validator. The origin knows none, so that it answers no condition.
  private func serve(
    _ seed: UInt64, _ length: Int64, _ field: Field, _ control: String, _ origin: OriginServer
  ) {
    origin.serve(
      OriginResource(
        .synthetic(seed: seed, length: length), headers: [field, Field("Cache-Control", control)]),
      at: "/a")
    origin.script("/a", .on(.all, .ignoreIfRange))
  }

  static let validators = [
    Field("ETag", "\"0\""), Field("ETag", "W/\"0\""),
    Field("Last-Modified", "Thu, 01 Jan 1970 00:00:01 GMT"),
  ]

  @Test(arguments: validators) func `A stale version is replaced`(_ field: Field) async throws {
    try await withCache { test in
      serve(1, 600_000, field, "no-cache", test.origin)
      try await #expect(test.read("/a") == old.bytes(in: 0..<600_000))
      serve(2, 500_000, field, "no-cache", test.origin)
      try await #expect(test.read("/a") == new.bytes(in: 0..<500_000))
      try await test.cache.prefetch(Resource(url: test.origin.url("/a")))
      let key = CacheKey(url: test.origin.url("/a"))
      let entry = try #require(try await test.cache.entry(for: key))
      #expect(entry.length == 500_000)
      #expect(try Array(Data(contentsOf: entry.file)) == new.bytes(in: 0..<500_000))
    }
  }

  @Test(arguments: validators)
  func `A reader in the middle receives no byte of the new file`(_ field: Field) async throws {
    try await withCache { test in
      serve(1, 600_000, field, "max-age=3600", test.origin)
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<1000)
      serve(2, 500_000, field, "max-age=3600", test.origin)
      await expectError(.resourceChanged) { try await reader.bytes(in: 300_000..<301_000) }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == old.bytes(in: 0..<1000))
      try await #expect(test.read("/a") == new.bytes(in: 0..<500_000))
    }
  }

  /// The old bytes could be confirmed by the validator of the new ones.
  @Test(arguments: validators)
  func `Nothing of the old file is left to be confirmed`(_ field: Field) async throws {
    try await withCache { test in
      serve(1, 600_000, field, "no-cache", test.origin)
      _ = try await test.read("/a")
      serve(2, 500_000, field, "no-cache", test.origin)
      try await test.reopened { test in
        // The head of the new file, and none of its bytes.
        test.origin.script("/a", .on(.all, .ignoreIfRange, .stall(at: .body(0))))
        let reader = try await test.reader("/a")
        let read = Task { try await reader.bytes(in: 0..<1000) }
        try await eventually("the new version has begun") {
          reader.entry.current?.withState(\.length) == 500_000
        }
        reader.cancel()
        _ = await read.result
      }
      test.origin.script(
        "/a",
        .on(
          .where { request in
            ["If-None-Match", "If-Modified-Since"].contains { request.headers.first($0) != nil }
          }, .status(304)))
      try await test.reopened { later in
        try await #expect(later.read("/a") == new.bytes(in: 0..<500_000))
      }
    }
  }
}
