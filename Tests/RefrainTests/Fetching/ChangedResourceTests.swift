// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// A resource that is replaced by another version: between requests, and during one.
@Suite(.timeLimit(.minutes(1))) struct ChangedResourceTests {
  private let length: Int64 = 1_000_003
  private let old = SyntheticBytes(seed: 1)
  private let new = SyntheticBytes(seed: 2)

  private enum Witness: CaseIterable, Sendable {
    case strong, weak, date, length

    func resource(_ seed: UInt64, _ length: Int64) -> OriginResource {
      var resource = OriginResource.synthetic(seed: seed, length: length)
      switch self {
      case .strong: break
      case .weak: resource.etag = "W/\"\(seed)\""
      case .date:
        resource.etag = nil
        resource.lastModified = Date(timeIntervalSince1970: 1_000_000 + Double(seed))
      case .length:
        resource.etag = nil
        resource = OriginResource(.synthetic(seed: seed, length: length + Int64(seed)))
      }
      return resource
    }
  }

  @Test(arguments: Witness.allCases)
  private func `A reader in the middle receives an error and no byte of the new version`(
    _ witness: Witness
  ) async throws {
    try await withCache { test in
      test.origin.serve(witness.resource(1, length), at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == old.bytes(in: 0..<1000))
      test.origin.serve(witness.resource(2, length), at: "/a")
      await expectError(.resourceChanged) { try await reader.bytes(in: 500_000..<501_000) }
      // The reader may still return the bytes of the old version that it holds.
      try await #expect(Array(reader.bytes(in: 0..<1000)) == old.bytes(in: 0..<1000))
      // A later reader gets the new version.
      try await #expect(test.read("/a", 0..<2000) == new.bytes(in: 0..<2000))
    }
  }

  @Test(arguments: Witness.allCases)
  private func `A reader that has read nothing switches to the new version`(
    _ witness: Witness
  ) async throws {
    try await withCache { test in
      test.origin.serve(witness.resource(1, length), at: "/a")
      let first = try await test.reader("/a")
      defer { first.cancel() }
      try await #expect(Array(first.bytes(in: 0..<1000)) == old.bytes(in: 0..<1000))
      let unread = try await test.reader("/a")
      defer { unread.cancel() }
      test.origin.serve(witness.resource(2, length), at: "/a")
      try await #expect(
        Array(unread.bytes(in: 500_000..<501_000)) == new.bytes(in: 500_000..<501_000))
      try await #expect(Array(unread.bytes(in: 0..<1000)) == new.bytes(in: 0..<1000))
    }
  }

  /// Also with fresh stored bytes: an observed change outweighs freshness.
  @Test(arguments: ["max-age=0", "max-age=3600"])
  func `A reader opened after a change receives the new version`(_ control: String) async throws {
    func serve(_ seed: UInt64, _ test: TestCache) {
      var resource = OriginResource.synthetic(seed: seed, length: length)
      resource.headers.append(Field("Cache-Control", control))
      test.origin.serve(resource, at: "/a")
    }
    try await withCache { test in
      serve(1, test)
      try await #expect(test.read("/a", 0..<1000) == old.bytes(in: 0..<1000))
      serve(2, test)
      // Fresh bytes are returned without a request; the change is detected where they end.
      if control != "max-age=0" {
        await expectError(.resourceChanged) { try await test.read("/a") }
      }
      try await #expect(test.read("/a") == new.bytes(in: 0..<length))
      try await test.reopened { later in
        try await #expect(later.read("/a") == new.bytes(in: 0..<length))
      }
    }
  }

  /// The process that detected the change never read the new version.
  @Test func `The next process reads the new version after a detected change`() async throws {
    try await withCache { test in
      for seed in [1, 2] as [UInt64] {
        var resource = OriginResource.synthetic(seed: seed, length: length)
        resource.headers.append(Field("Cache-Control", "max-age=3600"))
        test.origin.serve(resource, at: "/a")
        guard seed == 1 else { continue }
        try await #expect(test.read("/a", 0..<100_000) == old.bytes(in: 0..<100_000))
      }
      await expectError(.resourceChanged) { try await test.read("/a") }
      try await test.reopened { later in
        try await #expect(later.read("/a") == new.bytes(in: 0..<length))
      }
    }
  }

  @Test func `A change under the same weak ETag is detected by comparing bytes`() async throws {
    try await withCache { test in
      var plain = OriginResource.synthetic(seed: 1, length: length)
      plain.etag = "W/\"same\""
      plain.supportsRanges = false
      test.origin.serve(plain, at: "/a")
      test.origin.script("/a", .on(.first(1), .drop(at: .body(300_000))))
      var changed = plain
      changed.content = .synthetic(seed: 2, length: length)
      test.origin.script(
        "/a", .on(.first(1), .drop(at: .body(300_000))).on(.from(2), .answerFrom(changed)))
      await expectError(.resourceChanged) { try await test.read("/a") }
      try await #expect(test.read("/a") == new.bytes(in: 0..<length))
    }
  }

  @Test
  func `An unchanged resource without validators is read without repeated bytes`() async throws {
    try await withCache { test in
      test.origin.serve(OriginResource(.synthetic(seed: 1, length: length)), at: "/a")
      try await #expect(test.read("/a") == old.bytes(in: 0..<length))
      #expect(test.origin.log("/a").bytesSentTwice == 0)
    }
  }

  /// Nothing shows whether the resource is the same or has changed.
  @Test
  func `A second reader of a resource without validators does not end the first`() async throws {
    try await withCache { test in
      test.origin.serve(OriginResource(.synthetic(seed: 1, length: length)), at: "/a")
      let first = try await test.reader("/a")
      defer { first.cancel() }
      try await #expect(Array(first.bytes(in: 0..<1000)) == old.bytes(in: 0..<1000))
      try await #expect(test.read("/a", 0..<1000) == old.bytes(in: 0..<1000))
      try await #expect(Array(first.bytes(in: 0..<length)) == old.bytes(in: 0..<length))
      #expect(test.origin.log("/a").bytesSentTwice == 0)
    }
  }

  /// Both requests were sent before any response, and neither could name a version.
  @Test func `First responses of two versions are not combined`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      test.origin.script("/a", .on(.first(2), .delay(nil)))
      let first = try await test.reader("/a")
      let second = try await test.reader("/a")
      defer {
        first.cancel()
        second.cancel()
      }
      let start = Task { try await first.bytes(in: 0..<1000) }
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      test.origin.serve(.synthetic(seed: 2, length: length), at: "/a")
      let middle = Task { try await second.bytes(in: 500_000..<501_000) }
      try await test.origin.wait(for: "/a") { $0.stalled == 2 }
      test.origin.release("/a")
      _ = await start.result
      _ = await middle.result
      for reader in [first, second] {
        do {
          let here = try await Array(reader.bytes(in: 0..<1000))
          let there = try await Array(reader.bytes(in: 500_000..<501_000))
          let version = here == old.bytes(in: 0..<1000) ? old : new
          #expect(here == version.bytes(in: 0..<1000))
          #expect(there == version.bytes(in: 500_000..<501_000))
        } catch let error as MediaCacheError {
          #expect(error.code == .resourceChanged)
        }
      }
    }
  }

  @Test func `Concurrent reads of one reader switch to the new version together`() async throws {
    try await withCache { test in
      for round in 0..<20 {
        let path = "/\(round)"
        test.origin.serve(.synthetic(seed: 1, length: length), at: path)
        let holder = try await test.reader(path)
        defer { holder.cancel() }
        _ = try await holder.bytes(in: 0..<10)
        let reader = try await test.reader(path)
        defer { reader.cancel() }
        test.origin.serve(.synthetic(seed: 2, length: length), at: path)
        try await concurrently(6) { index in
          let start = Int64(index + 1) * 100_000
          let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 1)
          defer { buffer.deallocate() }
          let count = try await reader.read(into: buffer, at: start)
          #expect(Array(buffer[..<count]) == new.bytes(in: start..<start + Int64(count)))
        }
      }
    }
  }

  @Test func `A changed resource reports its new length`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      _ = try await test.read("/a")
      for (length, isBlocking) in [(2000, false), (3000, true)] as [(Int64, Bool)] {
        test.origin.serve(.synthetic(seed: UInt64(length), length: length), at: "/a")
        let reader = try await test.reader("/a")
        defer { reader.cancel() }
        let information =
          isBlocking
          ? try await onThread { try reader.contentInformationBlocking() }
          : try await reader.contentInformation()
        #expect(information.length == length)
      }
    }
  }
}
