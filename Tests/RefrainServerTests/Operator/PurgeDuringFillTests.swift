// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainProxy
import RefrainServer
import Testing

/// Purges while the origin's response from before is still arriving.
@Suite(.timeLimit(.minutes(2))) struct PurgeDuringFillTests {
  /// A purge of `/a`.
  enum Way: String, CaseIterable {
    case url = "/a"
    case prefix = "/*"
  }

  @discardableResult
  private func purge(_ way: Way, _ test: TestProxy) async throws -> PurgeReport {
    try PurgeReport(await test.admin(way.rawValue, method: "PURGE"))
  }

  private static let fields = ["Cache-Control": "max-age=600"]

  /// Has the origin begin with the old version, and stop at a place; then serves the new one.
  ///
  /// - Returns: the client that waits for the old version.
  private func begin(_ test: TestProxy, _ fault: Fault) async throws -> Task<Reply, any Error> {
    test.serve("/a", 2, Self.fields)
    test.origin.script(
      "/a", .on(.number(1), .answerFrom(Caching.resource(1, Self.fields)), fault))
    let client = Task { try await test.get("/a") }
    try await test.origin.wait(for: "/a") { $0.stalled == 1 }
    return client
  }

  @Test(arguments: Way.allCases, [false, true])
  func `A purge during a fill leaves no old byte, and does not wait`(
    _ way: Way, hasBegun: Bool
  ) async throws {
    try await withNode { test async throws in
      let early = try await begin(test, hasBegun ? .stall(at: .body(700)) : .delay(nil))
      if hasBegun {
        try await eventually("bytes are stored") {
          try await test.cache.entry(for: test.key("/a"))?.cachedBytes == 700
        }
      }
      let report = try await purge(way, test)
      #expect(report.entries == (hasBegun ? 1 : 0))
      // The old response has not even come.
      for _ in 0..<2 { #expect(try await test.get("/a").body == Caching.bytes(2)) }
      test.origin.release("/a")
      let reply = try await early.value
      #expect(reply.body == Caching.bytes(1) && reply.isComplete)
      for _ in 0..<2 { #expect(try await test.get("/a").body == Caching.bytes(2)) }
      #expect(try await test.asked("/a") == 2)
      let file = try #require(try await test.cache.completeFile(for: test.key("/a")))
      #expect(try Data(contentsOf: file) == Data(Caching.bytes(2)))
      let names = try FileManager.default.contentsOfDirectory(
        atPath: file.deletingLastPathComponent().path())
      // The data file; the others have no such ending.
      #expect(names.count { $0.hasSuffix(".\(file.pathExtension)") } == 1, "\(names)")
    }
  }

  @Test func `A confirmation from before a purge does not make old bytes fresh`() async throws {
    try await withNode { test async throws in
      var old = Self.fields
      old["Cache-Control"] = "max-age=0"
      test.serve("/a", 1, old)
      _ = try await test.get("/a")
      test.origin.script(
        "/a", .on(.number(1), .answerFrom(Caching.resource(1, Self.fields)), .delay(nil)))
      let early = Task { try await test.get("/a") }
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      test.serve("/a", 2, Self.fields)
      try await purge(.url, test)
      test.origin.release("/a")
      #expect(try await early.value.isComplete)
      #expect(try await test.get("/a").body == Caching.bytes(2))
    }
  }

  @Test func `A client that reads slowly ends with the version with which it began`() async throws {
    try await withNode { test async throws in
      let length: Int64 = 8 << 20
      func resource(_ seed: UInt64) -> OriginResource {
        var resource = OriginResource.synthetic(seed: seed, length: length)
        resource.headers = Self.fields.map { Field($0.key, $0.value) }
        return resource
      }
      test.origin.serve(resource(1), at: "/a")
      _ = try await test.get("/a")
      test.origin.serve(resource(2), at: "/a")
      try await test.connect(receiveBuffer: 4096) { connection in
        try await connection.request("/a", [], method: "GET", host: test.host)
        let head = try await connection.readHead()
        #expect(head["Content-Length"] == "\(length)")
        try await purge(.url, test)
        let other = try await test.get("/a", ["Range: bytes=5000000-5000099"])
        #expect(other.body == SyntheticBytes(seed: 2).bytes(in: 5_000_000..<5_000_100))
        let body = try await connection.read(upTo: Int(length))
        #expect(body == SyntheticBytes(seed: 1).bytes(in: 0..<length))
      }
      #expect(try await test.get("/a").body == SyntheticBytes(seed: 2).bytes(in: 0..<length))
    }
  }
}
