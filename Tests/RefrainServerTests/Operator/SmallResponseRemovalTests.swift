// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Responses other than resources that a shared cache keeps in memory are removed like entries.
@Suite(.timeLimit(.minutes(2))) struct SmallResponseRemovalTests {
  private func serve(_ status: Int, _ fields: [Field], at path: String, _ test: TestProxy) {
    let location = (300..<400).contains(status) ? [Field("Location", "http://a.example/x")] : []
    let more = [Field("X-Why", "so"), Field("ETag", "\"1\"")]
    test.origin.script(
      path,
      .on(.all, .status(status, headers: fields + location + more, body: Array("text".utf8))))
  }

  @Test func `An unsafe request and a purge remove responses`() async throws {
    try await withNode { test async throws in
      for path in ["/a", "/b", "/c/d"] {
        serve(404, [Field("Cache-Control", "max-age=60")], at: path, test)
        #expect(try await test.get(path).status == 404)
        test.origin.script(path, .on(.where { $0.method == "POST" }, .status(204)))
        test.serve(path, ["Cache-Control": "max-age=60"])
        #expect(try await test.get(path).status == 404)
      }
      #expect(try await test.get("/a", ["Content-Length: 0"], method: "POST").status == 204)
      #expect(try await test.get("/a").status == 200)
      #expect(try await test.get("/b").status == 404)
      _ = try await test.admin("/b", method: "PURGE")
      #expect(try await test.get("/b").status == 200)
      _ = try await test.admin("/c*", method: "PURGE")
      #expect(try await test.get("/c/d").status == 200)
    }
  }

  @Test func `A response that was requested before a purge is not kept`() async throws {
    try await withNode { test async throws in
      serve(404, [Field("Cache-Control", "max-age=60")], at: "/a", test)
      test.origin.script(
        "/a",
        .on(.first(1), .delay(nil)).on(
          .all, .status(404, headers: [Field("Cache-Control", "max-age=60")])))
      let first = Task { try await test.get("/a") }
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      _ = try await test.admin("/a", method: "PURGE")
      test.origin.release("/a")
      let reply = try await first.value
      #expect(reply.status == 404)
      #expect(try await test.get("/a").status == 404)
      #expect(try await test.asked("/a") == 2)
    }
  }
}
