// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// When stored bytes are used without revalidation, and the cost of revalidation (RFC 9111 §4).
@Suite(.timeLimit(.minutes(1))) struct ConfirmationTests {
  private let length: Int64 = 300_007
  private let bytes = SyntheticBytes(seed: 7)

  private func resource(_ control: String?, etag: String? = "\"a\"") -> OriginResource {
    var resource = OriginResource(.synthetic(seed: 7, length: length), etag: etag)
    if let control { resource.headers.append(Field("Cache-Control", control)) }
    return resource
  }

  /// Reads everything in one cache, then opens another over the same directory.
  private func reopened(
    _ resource: OriginResource, _ change: (inout MediaCache.Configuration) -> Void = { _ in },
    _ body: (TestCache) async throws -> Void
  ) async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      try await readAll(test)
      test.origin.resetLog("/a")
      try await test.reopened(change, body)
    }
  }

  private func readAll(_ test: TestCache) async throws {
    try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
  }

  @Test func `A fresh entry is read and prefetched without a request`() async throws {
    try await reopened(resource("max-age=3600")) { test in
      try await readAll(test)
      let information = try await test.cache.prefetch(test.origin.url("/a"))
      #expect(information.length == length)
      #expect(test.origin.log("/a").requests.isEmpty)
    }
  }

  @Test(arguments: ["max-age=0", "no-cache", nil])
  func `A stale entry is confirmed by one conditional request`(_ control: String?) async throws {
    try await reopened(resource(control)) { test in
      try await readAll(test)
      let requests = test.origin.log("/a").requests
      #expect(requests.map(\.status) == [304])
      #expect(requests.first?.request.headers.first("If-None-Match") == "\"a\"")
      #expect(test.origin.log("/a").bodyBytesSent == 0)
    }
  }

  @Test func `Concurrent readers share one confirmation`() async throws {
    try await reopened(resource("no-cache")) { test in
      var readers: [MediaReader] = []
      for _ in 0..<8 { readers.append(try await test.reader("/a")) }
      test.origin.script("/a", .on(.all, .delay(.milliseconds(20))))
      try await concurrently(8) { [readers] number in
        let read = try await Array(readers[number].bytes(in: 0..<length))
        #expect(read == bytes.bytes(in: 0..<length))
      }
      #expect(test.origin.log("/a").requests.map(\.status) == [304])
      for reader in readers { reader.cancel() }
    }
  }

  @Test func `Readers that join a confirmed reader send no further request`() async throws {
    try await reopened(resource("no-cache")) { test in
      let first = try await test.reader("/a")
      defer { first.cancel() }
      _ = try await first.bytes(in: 0..<10)
      for _ in 0..<5 { try await readAll(test) }
      #expect(test.origin.log("/a").requests.map(\.status) == [304])
    }
  }

  @Test func `A confirmation with max-age makes the entry fresh`() async throws {
    try await reopened(resource("max-age=0")) { test in
      test.origin.serve(resource("max-age=3600"), at: "/a")
      for _ in 0..<3 { try await readAll(test) }
      #expect(test.origin.log("/a").requests.map(\.status) == [304])
    }
  }

  @Test func `Last-Modified confirms an entry without an ETag`() async throws {
    var dated = resource("no-cache", etag: nil)
    dated.lastModified = Date(timeIntervalSince1970: 1_000_000)
    try await reopened(dated) { test in
      try await readAll(test)
      let requests = test.origin.log("/a").requests
      #expect(requests.map(\.status) == [304])
      #expect(requests.first?.request.headers.first("If-Modified-Since") != nil)
    }
  }

  @Test func `A weak ETag confirms an entry, too`() async throws {
    try await reopened(resource("no-cache", etag: "W/\"a\"")) { test in
      try await readAll(test)
      #expect(test.origin.log("/a").requests.map(\.status) == [304])
    }
  }

  @Test func `A changed resource is fetched again`() async throws {
    try await reopened(resource("no-cache")) { test in
      let new = SyntheticBytes(seed: 8)
      test.origin.serve(.synthetic(seed: 8, length: length), at: "/a")
      try await #expect(test.read("/a") == new.bytes(in: 0..<length))
      try await #expect(test.settledLog("/a").distinctBytesSent == length)
    }
  }

  @Test func `A stale entry without validators is fetched again`() async throws {
    try await reopened(resource("no-cache", etag: nil)) { test in
      try await readAll(test)
      try await #expect(test.settledLog("/a").distinctBytesSent == length)
    }
  }

  @Test(arguments: [Fault.unavailable(), .closeWithoutAnswer, .garbage([1, 2, 3])])
  func `A stored entry is read if its confirmation fails`(_ fault: Fault) async throws {
    try await reopened(resource("no-cache")) { test in
      test.origin.script("/a", .on(.all, fault))
      try await readAll(test)
    }
  }

  @Test func `A stored entry is read if the origin does not accept connections`() async throws {
    try await reopened(resource("no-cache")) { test in
      await test.origin.stopListening()
      try await readAll(test)
    }
  }

  @Test func `A stored entry is read if its confirmation times out`() async throws {
    try await reopened(resource("no-cache"), { $0.responseTimeout = .milliseconds(100) }) { test in
      test.origin.script("/a", .on(.all, .delay(nil)))
      try await readAll(test)
    }
  }

  @Test func `A 404 to a confirmation is an error`() async throws {
    try await reopened(resource("no-cache")) { test in
      test.origin.script("/a", .on(.all, .status(404)))
      await expectError(.status, status: 404) { try await test.read("/a") }
    }
  }

  @Test func `A stored entry is read without a request if trustStored is set`() async throws {
    try await reopened(resource("no-cache"), { $0.trustStored = true }) { test in
      try await readAll(test)
      #expect(test.origin.log("/a").requests.isEmpty)
    }
  }

  @Test func `A trusted entry that a request may have changed is confirmed, once`() async throws {
    try await reopened(resource("max-age=3600"), { $0.trustStored = true }) { test in
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<10)
      try await test.cache.invalidate(Resource(url: test.origin.url("/a")))
      try await readAll(test)
      #expect(test.origin.log("/a").requests.map(\.status) == [304])
      try await readAll(test)
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  @Test
  func `A reader cancelled during a confirmation does not fail the next reader`() async throws {
    try await reopened(resource("no-cache")) { test in
      test.origin.script("/a", .on(.first(1), .delay(nil)))
      for _ in 0..<3 {
        let reader = try await test.reader("/a")
        let reading = Task { try await reader.bytes(in: 0..<10) }
        try await test.origin.wait(for: "/a") { !$0.requests.isEmpty }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        let next = try await test.reader("/a")
        try await #expect(Array(next.bytes(in: 0..<10)) == bytes.bytes(in: 0..<10))
        next.cancel()
      }
    }
  }
}
