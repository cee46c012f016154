// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Updates of stored responses by later ones (RFC 9111 §3.2, §4.3.4, §4.4).
@Suite(.timeLimit(.minutes(2))) struct UpdateTests {
  @Test func `A revalidation updates the stored fields, which survive a restart`() async throws {
    try await withSuccession { origin, directory in
      var fields = Caching.stale()
      fields["X-Note"] = "old"
      fields["X-Other"] = "stays"
      origin.serve(Caching.resource(1, fields), at: "/a")
      try await withProxy(directory: directory, origin: origin) { test async throws in
        #expect(try await test.get("/a")["X-Note"] == "old")
        origin.serve(
          Caching.resource(1, ["Cache-Control": "max-age=600", "X-Note": "new"]), at: "/a")
        for _ in 0..<2 {
          let reply = try await test.get("/a")
          #expect(reply["X-Note"] == "new" && reply["X-Other"] == "stays")
          #expect(reply.fields.filter { $0.name == "X-Note" }.count == 1)
        }
      }
      let before = try await origin.wait(for: "/a") { $0.running == 0 }.requests.count
      #expect(before == 2)
      try await withProxy(directory: directory, origin: origin) { test async throws in
        let reply = try await test.get("/a")
        #expect(reply.body == Caching.bytes(1))
        #expect(reply["X-Note"] == "new" && reply["X-Other"] == "stays")
        #expect(try await test.asked("/a") == before)
      }
    }
  }

  @Test func `A revalidation with one freshness field keeps the other stored ones`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", Caching.stale(", must-revalidate"))
      _ = try await test.get("/a")
      // The response states only its expiry: the stored must-revalidate still applies.
      test.serve("/a", ["Expires": HTTPDate.format(Date() + 3600), "Age": "100"])
      #expect(try await test.get("/a").status == 200)
      await test.origin.stopListening()
      #expect(try await [502, 504].contains(test.get("/a").status))
    }
  }

  @Test
  func `A changed resource is fetched again and never mixed with the old version`() async throws {
    try await Caching.withBoth { test async throws in
      test.serve("/a", 1, Caching.stale())
      let part = try await test.get("/a", ["Range: bytes=0-999"])
      #expect(part.body == Array(Caching.bytes(1)[0..<1000]))
      for seed in 2...5 as ClosedRange<UInt64> {
        test.serve("/a", seed, Caching.stale())
        let reply = try await test.get("/a", ["Range: bytes=500-1500"])
        #expect(reply.status == 206)
        #expect(reply["ETag"] == "\"seed-\(seed)\"")
        #expect(reply.body == Array(Caching.bytes(seed)[500...1500]))
        let whole = try await test.get("/a", ["If-Range: \"seed-1\"", "Range: bytes=1-2"])
        #expect(whole.status == 200 && whole.body == Caching.bytes(seed))
      }
    }
  }

  @Test
  func `A HEAD request that finds a changed resource replaces the stored one`() async throws {
    try await withProxy { test async throws in
      for headers in [[], ["Cache-Control: no-cache"]] {
        test.serve("/a", 1, ["Cache-Control": "max-age=600"])
        _ = try await test.get("/a", ["Cache-Control: no-cache"])
        #expect(try await test.get("/a").body == Caching.bytes(1))
        test.serve("/a", 2, ["Cache-Control": "max-age=600"])
        let head = try await test.get("/a", headers, method: "HEAD")
        #expect(head.status == 200 && head.body.isEmpty)
        #expect(head["Content-Length"] == "\(Caching.length)")
        let isAsked = !headers.isEmpty
        #expect(head["ETag"] == (isAsked ? "\"seed-2\"" : "\"seed-1\""))
        #expect(
          try await test.get("/a").body == Caching.bytes(isAsked ? 2 : 1), "\(headers)")
      }
    }
  }

  @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "MKCOL"])
  func `An unsafe request invalidates its URL alone`(
    method: String
  ) async throws {
    try await withReverseProxy { test async throws in
      for path in ["/a", "/other"] {
        test.serve(path, 1, ["Cache-Control": "max-age=600"])
        _ = try await test.get(path)
        test.serve(path, 2, ["Cache-Control": "max-age=600"])
      }
      test.origin.script("/a", .on(.where { $0.method == method }, .status(200)))
      #expect(try await test.get("/a", ["Content-Length: 0"], method: method).status == 200)
      #expect(try await test.get("/a").body == Caching.bytes(2))
      #expect(try await test.get("/other").body == Caching.bytes(1))
    }
  }

  @Test
  func `An unsafe request that fails invalidates nothing`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", 1, ["Cache-Control": "max-age=600"])
      _ = try await test.get("/a")
      test.serve("/a", 2, ["Cache-Control": "max-age=600"])
      test.origin.script("/a", .on(.where { $0.method == "POST" }, .status(500)))
      #expect(try await test.get("/a", ["Content-Length: 0"], method: "POST").status == 500)
      #expect(try await test.get("/a").body == Caching.bytes(1))
    }
  }

  @Test func `An unsafe request invalidates all representations`() async throws {
    try await withReverseProxy { test async throws in
      let fields = ["Cache-Control": "max-age=600", "Vary": "Accept-Language"]
      func serve(_ first: UInt64) {
        test.serve("/a", first, fields)
        test.origin.script(
          "/a",
          .on(
            .where { $0.headers.first("Accept-Language") == "de" },
            .answerFrom(Caching.resource(first + 1, fields))
          )
          .on(.where { $0.method == "POST" }, .status(204)))
      }
      serve(1)
      func check(_ first: UInt64) async throws {
        for (language, seed) in [("en", first), ("de", first + 1)] {
          let reply = try await test.get("/a", ["Accept-Language: \(language)"])
          #expect(reply.body == Caching.bytes(seed), "\(language)")
        }
      }
      try await check(1)
      serve(11)
      try await check(1)
      #expect(try await test.get("/a", ["Content-Length: 0"], method: "POST").status == 204)
      try await check(11)
      try await check(11)
    }
  }

  @Test func `An unsafe request invalidates errors of other spellings of its URL`() async throws {
    try await withReverseProxy { test async throws in
      let missing = Fault.status(404, headers: [Field("Cache-Control", "max-age=600")])
      test.origin.script("/%7Ea", .on(.all, missing))
      for _ in 0..<2 { #expect(try await test.get("/%7Ea").status == 404) }
      #expect(try await test.asked("/%7Ea") == 1)
      test.origin.script("/~a", .on(.all, .status(204)))
      #expect(try await test.get("/~a", ["Content-Length: 0"], method: "POST").status == 204)
      #expect(try await test.get("/%7Ea").status == 404)
      #expect(try await test.asked("/%7Ea") == 2)
    }
  }

  @Test func `An unsafe request invalidates responses stored for credentials`() async throws {
    try await withReverseProxy { test async throws in
      let fields = ["Cache-Control": "public, max-age=600"]
      let mine = ["Authorization: Basic b25lOm9uZQ=="]
      test.serve("/a", 1, fields)
      #expect(try await test.get("/a", mine).body == Caching.bytes(1))
      test.serve("/a", 2, fields)
      #expect(try await test.get("/a", mine).body == Caching.bytes(1))
      test.origin.script("/a", .on(.where { $0.method == "POST" }, .status(204)))
      #expect(try await test.get("/a", ["Content-Length: 0"], method: "POST").status == 204)
      #expect(try await test.get("/a", mine).body == Caching.bytes(2))
    }
  }
}
