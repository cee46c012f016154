// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// The request that confirms another signature, while others wait for it or the cache is closed.
@Suite(.timeLimit(.minutes(1))) struct SignatureConfirmationTests {
  private let length = SignedResource.length
  private let old = SignedResource.old
  private let new = SignedResource.new

  @Test func `Concurrent readers with other headers each ask for themselves`() async throws {
    try await withSigned(serving: {
      $0.headers.append(Field("Vary", "X-Kind"))
    }) { test async throws in
      func resource(_ path: String, _ kind: String) -> Resource {
        Resource(url: test.origin.url(path), headers: ["X-Kind": kind])
      }
      func read(_ kind: String) async throws -> [UInt8] {
        let reader = try await test.cache.open(resource(new, kind))
        defer { reader.cancel() }
        return try await Array(reader.bytes(in: 0..<length))
      }
      try await test.cache.prefetch(resource(old, "one"))
      var other = OriginResource.synthetic(seed: 10, length: length)
      other.headers = [Field("Cache-Control", "max-age=1000"), Field("Vary", "X-Kind")]
      test.origin.script(
        "/a",
        .on(.where { $0.headers.first("X-Kind") == "two" }, .answerFrom(other))
          .on(.first(2), .delay(nil)))
      async let one = read("one")
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      async let two = read("two")
      try await test.origin.wait(for: "/a") { $0.stalled == 2 }
      test.origin.release("/a")
      try await #expect(one == SignedResource.bytes.bytes(in: 0..<length))
      try await #expect(two == SyntheticBytes(seed: 10).bytes(in: 0..<length))
    }
  }

  @Test func `Closing the cache does not wait for a hook that never answers`() async throws {
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let (answers, answer) = AsyncStream.makeStream(of: Void.self)
    defer { answer.finish() }
    try await withSigned(with: {
      $0.authorize = { _, _ in
        ask.finish()
        // Nothing cancels this task.
        await Task { for await _ in answers {} }.value
        return nil
      }
    }) { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      test.origin.script(new, .on(.all, .status(403)))
      let reading = Task { try await test.read(new) }
      for await _ in asked {}
      await test.cache.close()
      await expectError(.closed) { try await reading.value }
    }
  }

  @Test func `Closing the cache ends a confirmation that waits for the origin`() async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      test.origin.script("/a", .on(.all, .delay(nil)))
      let reading = Task { try await test.read(new) }
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      await test.cache.close()
      await expectError(.closed) { try await reading.value }
      _ = try await test.settledLog("/a")
    }
  }
}
