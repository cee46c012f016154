// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain

/// Signatures that the origin has not confirmed, and about which it cannot be asked.
@Suite(.timeLimit(.minutes(1))) struct SignaturesUnansweredTests {
  private let bytes = SignedResource.bytes
  private let length = SignedResource.length
  private let old = SignedResource.old
  private let new = SignedResource.new

  // MARK: Tokens that may select content

  @Test(arguments: [Fault.closeWithoutAnswer, .status(503)])
  func `Bytes of one token are never used for another while the origin does not answer`(
    _ fault: Fault
  ) async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url("/a?token=1"))
      for other in ["/a?token=2", "/a"] {
        // The second of these URLs is the path of them all.
        test.origin.script(other, .on(.where { $0.target == other }, fault))
        let error = await #expect(throws: MediaCacheError.self) { try await test.read(other) }
        #expect(error?.code == .unreachable || error?.status == 503)
        try await #expect(test.read("/a?token=1") == bytes.bytes(in: 0..<length))
      }
    }
  }

  @Test func `Offline, only the tokens that the origin has confirmed play`() async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url("/a?token=1"))
      try await #expect(test.read("/a?token=2") == bytes.bytes(in: 0..<length))
      test.cache.isOffline = true
      for token in 1...2 {
        try await #expect(test.read("/a?token=\(token)") == bytes.bytes(in: 0..<length))
      }
      for other in ["/a?token=3", "/a"] {
        await expectError(.offline) { try await test.read(other) }
      }
    }
  }

  @Test func `A token under which nothing is stored has no stored bytes`() async throws {
    try await withSigned { test async throws in
      let cache = test.cache
      let (one, two) = (test.origin.url("/a?token=1"), test.origin.url("/a?token=2"))
      try await cache.prefetch(one)
      let parts = [one, two].map {
        WantedPart(Resource(url: $0), in: nil, isOfAnyRepresentation: true)
      }
      #expect(try await cache.storedAmounts(of: 2) { parts[$0] }.map(\.bytes) == [length, 0])
      #expect(try await cache.completeFile(for: one) != nil)
      #expect(try await cache.completeFile(for: two) == nil)
      #expect(try await !cache.progress(of: two).isComplete)
      // Once it is confirmed, the entry is that of both.
      try await cache.pin(two)
      #expect(try await cache.storedAmounts(of: 2) { parts[$0] }.map(\.bytes) == [length, length])
      #expect(try await cache.completeFile(for: two) == cache.completeFile(for: one))
      #expect(try await cache.entries().map(\.isPinned) == [true])
    }
  }

  @Test func `A resource without a token is not stored by one with a token`() async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url("/a?token=1"))
      let plain = WantedPart(
        Resource(url: test.origin.url("/a")), in: nil, isOfAnyRepresentation: true)
      #expect(try await test.cache.storedAmounts(of: 1) { _ in plain }.map(\.bytes) == [0])
      try await test.cache.prefetch(plain.resource)
      #expect(try await test.cache.storedAmounts(of: 1) { _ in plain }.map(\.bytes) == [length])
    }
  }

  @Test func `A change of the resource outdates it for every token`() async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url("/a?token=1"))
      let before = try await test.settledLog("/a").requests.count
      try await test.cache.invalidate(Resource(url: test.origin.url("/a?token=2")))
      try await #expect(test.read("/a?token=1") == bytes.bytes(in: 0..<length))
      #expect(try await test.settledLog("/a").requests.count == before + 1)
    }
  }

  // MARK: Silent origins

  @Test func `An origin that was silent a moment ago is not asked again`() async throws {
    let clock = TestClock()
    try await withSigned(with: { $0.clock = clock.now }) { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      test.origin.script(new, .on(.all, .closeWithoutAnswer))
      func requests() async throws -> Int {
        try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
        return try await test.settledLog(new).requests.count
      }
      let first = try await requests()
      #expect(first > 0)
      #expect(try await requests() == first)
      clock.pass(11)
      let later = try await requests()
      #expect(later > first)
      // Whoever ends offline mode expects the network to work.
      test.cache.isOffline = true
      test.cache.isOffline = false
      #expect(try await requests() > later)
    }
  }

  // MARK: Recorded URLs

  private static func renewing() -> @Sendable (Resource, Int) async throws -> Resource? {
    { resource, _ in
      var next = resource
      let text = resource.url.absoluteString.replacing("Expires=1", with: "Expires=2")
        .replacing("Signature=old", with: "Signature=new")
      next.url = try #require(URL(string: text))
      return next
    }
  }

  @Test func `A revalidation confirms the renewed signature as well`() async throws {
    try await withSigned(with: { $0.authorize = Self.renewing() }) { test async throws in
      let resource = Resource(url: test.origin.url(old))
      try await test.cache.prefetch(resource)
      try await test.cache.invalidate(resource)
      test.origin.script("/a", .on(.where { $0.target.contains("Expires=1") }, .status(403)))
      try await #expect(test.read(old) == bytes.bytes(in: 0..<length))
      let before = try await test.settledLog("/a").requests
      #expect(before.suffix(2).map(\.status) == [403, 304])
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      #expect(try await test.settledLog("/a").requests.count == before.count)
    }
  }

  @Test func `A signature without an answer is not recorded`() async throws {
    let long: Int64 = 4_000_000
    try await withCache({
      ($0.firstRequest, $0.maximumReadAhead) = (65_536, 65_536)
      $0.authorize = Self.renewing()
    }) { test async throws in
      test.origin.serve(.synthetic(seed: 9, length: long), at: "/a")
      let reader = try await test.reader(old, fill: .onDemand)
      _ = try await reader.bytes(in: 0..<1000)
      test.origin.script(
        "/a",
        .on(.where { $0.target.contains("Expires=1") }, .status(403))
          .on(.where { $0.target.contains("Expires=2") }, .status(404)))
      await #expect(throws: MediaCacheError.self) {
        try await reader.bytes(in: long - 1000..<long)
      }
      reader.cancel()
      let url = try await test.cache.entries().map(\.url)
      #expect(url == [test.origin.url(old)])
      try await test.reopened { later async throws in
        #expect(try await later.cache.entries().map(\.url) == [test.origin.url(old)])
      }
    }
  }
}
