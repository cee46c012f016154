// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Response fields that a shared cache has to follow or to ignore (RFC 9111, RFC 9213).
@Suite(.timeLimit(.minutes(2))) struct SharedDirectiveTests {
  static let cases: [(fields: [String: String], isReused: Bool)] = [
    // An Age that is no number is ignored; of several, the first one counts (RFC 9111 §5.1).
    (["Cache-Control": "max-age=60", "Age": "x"], true),
    (["Cache-Control": "max-age=60", "Age": "-1"], true),
    (["Cache-Control": "max-age=60", "Age": "1.5"], true),
    (["Cache-Control": "max-age=60", "Age": "7200, 0"], false),
    (["Cache-Control": "max-age=60", "Age": "0, 7200"], true),
    (["Cache-Control": "max-age=60", "Age": "99999999999999999999"], false),
    // Quotes, duplicates, case, white space, unknown directives.
    (["Cache-Control": "max-age=\"60\""], true), (["Cache-Control": "MAX-AGE=60"], true),
    (["Cache-Control": "x=\"a, max-age=0\", max-age=60"], true),
    (["Cache-Control": "x=\"no-store\", max-age=60"], true),
    (["Cache-Control": "max-age=60, max-age=0"], true),
    (["Cache-Control": "max-age=60.5"], false), (["Cache-Control": "max-age=-60"], false),
    (["Cache-Control": "max-age=60, private=\"X-A\""], false),
    (["Cache-Control": "max-age=60, no-cache=\"X-A\""], false),
    (["Cache-Control": "x", "Expires": HTTPDate.format(Date() + 3600)], true),
    // Expires: invalid dates lie in the past; max-age and s-maxage outrank it.
    (["Expires": HTTPDate.format(Date() + 3600).replacing("GMT", with: "CET")], false),
    (["Expires": "Thu, 18-Aug-2050 02:01:18 GMT"], false), (["Expires": "0"], false),
    (["Expires": "0", "Cache-Control": "max-age=60"], true),
    (["Expires": "Wednesday, 18-Aug-49 02:01:18 GMT"], true),
    (["Expires": "Wed Aug 18 02:01:18 2049"], true),
    // Pragma is a request's.
    (["Cache-Control": "max-age=60", "Pragma": "no-cache"], true),
    // CDN-Cache-Control outranks Cache-Control and Expires.
    (["Cache-Control": "max-age=60", "CDN-Cache-Control": "max-age=0"], false),
    (["Cache-Control": "no-store", "CDN-Cache-Control": "max-age=60"], true),
    (["Cache-Control": "private", "CDN-Cache-Control": "max-age=60"], true),
    (["Cache-Control": "private, max-age=60", "CDN-Cache-Control": "x=(,"], false),
    (["Expires": "0", "CDN-Cache-Control": "max-age=60"], true),
    (["Cache-Control": "max-age=60", "CDN-Cache-Control": "no-cache"], false),
    (["Cache-Control": "max-age=60", "CDN-Cache-Control": ""], true),
    (["Cache-Control": "max-age=60", "CDN-Cache-Control": "max-age = 0"], false),
    (["Cache-Control": "max-age=60", "CDN-Cache-Control": "max-age=0, &"], true),
    (["Cache-Control": "no-store", "CDN-Cache-Control": "max-age=60, &&"], false),
    (["Cache-Control": "max-age=60", "CDN-Cache-Control": "no-store, &"], false),
    (["Cache-Control": "max-age=60", "CDN-Cache-Control": "max-age=60, private &"], false),
    (["Cache-Control": "private", "CDN-Cache-Control": "no-store=?0, max-age=60, &"], false),
    (["Cache-Control": "no-store", "CDN-Cache-Control": "max-age=\"60\""], false),
    (["Cache-Control": "no-store", "CDN-Cache-Control": "max-age=60,"], true),
    (["Cache-Control": "max-age=60", "CDN-Cache-Control": "max-age=\"60\""], true),
    // What sets a cookie is for one client.
    (["Cache-Control": "max-age=60", "Set-Cookie2": "a=b; Version=1"], false),
    (["Cache-Control": "public, max-age=60", "Set-Cookie": "a=b"], false),
    // Selected by nothing but the answered request.
    (["Cache-Control": "max-age=60", "Vary": "X-A, *"], false),
    (["Cache-Control": "max-age=60", "Vary": "Accept-Encoding"], true),
  ]

  @Test(arguments: cases.indices)
  func `A shared cache reuses a response as its fields permit`(index: Int) async throws {
    let (fields, isReused) = Self.cases[index]
    try await withReverseProxy { test async throws in
      test.serve("/a", fields)
      for round in 1...3 {
        #expect(try await test.get("/a").body == Caching.bytes(1), "\(fields)")
        #expect(try await test.asked("/a") == (isReused ? 1 : round), "\(fields)")
      }
    }
  }

  @Test func `CDN-Cache-Control means nothing to a private cache`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=60", "CDN-Cache-Control": "no-store"])
      for _ in 0..<2 { #expect(try await test.get("/a").body == Caching.bytes(1)) }
      #expect(try await test.asked("/a") == 1)
    }
  }

  @Test(arguments: ["bytes 0-4/5", "bytes */5", "bytes 0-1999/2000", "x"])
  func `A Content-Range of a whole response is not served`(_ value: String) async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=60"])
      test.origin.script("/a", .on(.all, .ignoreRange, .header("Content-Range", value)))
      for _ in 0..<2 {
        let whole = try await test.get("/a")
        #expect(whole.status == 200 && whole.body == Caching.bytes(1))
        #expect(whole["Content-Range"] == nil)
        let part = try await test.get("/a", ["Range: bytes=5-9"])
        #expect(part.status == 206 && part["Content-Range"] == "bytes 5-9/2000")
        #expect(part.body == Array(Caching.bytes(1)[5...9]))
      }
      #expect(try await test.asked("/a") == 1)
    }
  }

  @Test func `A 304 updates the stored fields, and not those of the stored bytes`() async throws {
    try await withReverseProxy { test async throws in
      var resource = Caching.resource(1, Caching.stale())
      resource.headers += [Field("X-Old", "1"), Field("X-Both", "1")]
      test.origin.serve(resource, at: "/a")
      #expect(try await test.get("/a")["X-Both"] == "1")
      resource.headers = [
        Field("Cache-Control", "max-age=600"), Field("X-Both", "2"), Field("X-New", "2"),
        Field("Content-Encoding", "gzip"), Field("Content-Length", "5"),
        Field("Content-Range", "bytes 0-4/5"),
      ]
      test.origin.script(
        "/a", .on(.all, .answerFrom(resource), .header("Content-Length", nil)))
      for _ in 0..<2 {
        let reply = try await test.get("/a")
        #expect(reply.status == 200 && reply.body == Caching.bytes(1))
        #expect(reply["X-Old"] == "1" && reply["X-Both"] == "2" && reply["X-New"] == "2")
        #expect(reply["Content-Encoding"] == nil && reply["Content-Range"] == nil)
        #expect(reply["Content-Length"] == "\(Caching.length)")
      }
      #expect(try await test.asked("/a") == 2)
    }
  }
}

/// Stale responses that the origin permits to use (RFC 5861), in a shared cache.
@Suite(.timeLimit(.minutes(2))) struct StaleDirectiveTests {
  private static func fields(_ directives: String) -> [String: String] {
    ["Cache-Control": "max-age=10, \(directives)", "Age": "20"]
  }

  @Test func `A stale response is served while one request confirms it`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", Self.fields("stale-while-revalidate=60"))
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.origin.script("/a", .on(.first(1), .delay(nil)))
      for range in [[], ["Range: bytes=5-9"], []] {
        let reply = try await test.get("/a", range)
        let bytes = Caching.bytes(1)
        #expect(reply.body == (range.isEmpty ? bytes : Array(bytes[5...9])))
        #expect(reply["Cache-Status"]?.hasPrefix("refrain; hit; ttl=-") == true)
      }
      let log = try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      #expect(log.requests.count == 2)
      #expect(log.requests.last?.request.headers.first("If-None-Match") == "\"seed-1\"")
      test.serve("/a", ["Cache-Control": "max-age=600"])
      test.origin.release("/a")
      _ = try await test.origin.wait(for: "/a") { $0.running == 0 }
    }
  }

  @Test func `A new version is served once the background request has brought it`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", Self.fields("stale-while-revalidate=60"))
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.serve("/a", 2, ["Cache-Control": "max-age=600"])
      #expect(try await test.get("/a").body == Caching.bytes(1))
      try await test.origin.wait(for: "/a") { $0.requests.count == 2 && $0.running == 0 }
      try await eventually("the new version is served") {
        try await test.get("/a").body == Caching.bytes(2)
      }
      #expect(try await test.asked("/a") == 2)
    }
  }

  @Test func `A new version that is for one client alone is given to no other`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", Self.fields("stale-while-revalidate=60"))
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.serve("/a", 2, ["Cache-Control": "private, max-age=600"])
      let numbered = (1...8).map { number in
        FaultScript.Rule(.number(number), [.header("X-Person", "\(number)")])
      }
      test.origin.script("/a", FaultScript(numbered))
      _ = try await test.get("/a")
      try await test.origin.wait(for: "/a") { $0.requests.count >= 2 && $0.running == 0 }
      try await eventually("the new version is served") {
        try await test.get("/a").body == Caching.bytes(2)
      }
      // A confirmation in the background may not even have sent its request.
      await test.proxy.service.fills.stop()
      let before = try await test.asked("/a")
      let replies = [try await test.get("/a"), try await test.get("/a")]
      #expect(replies.allSatisfy { $0.body == Caching.bytes(2) })
      #expect(Set(replies.map { $0["X-Person"] }).count == 2)
      // One that was stopped may arrive meanwhile.
      #expect(try await test.asked("/a") >= before + 2)
    }
  }

  @Test(
    arguments: [
      (["stale-while-revalidate=5"], []), (["must-revalidate, stale-while-revalidate=60"], []),
      (["proxy-revalidate, stale-while-revalidate=60"], []),
      (["s-maxage=10, stale-while-revalidate=60"], []),
      (["no-cache, stale-while-revalidate=60"], []),
      (["stale-while-revalidate=60"], ["Cache-Control: no-cache"]),
      (["stale-while-revalidate=60"], ["Cache-Control: max-age=15"]),
      (["stale-while-revalidate=60"], ["Cache-Control: min-fresh=1"]),
    ] as [([String], [String])])
  func `A stale response is confirmed first where its use is not permitted`(
    _ directives: [String], _ request: [String]
  ) async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", Self.fields(directives[0]))
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.serve("/a", 2, Self.fields(directives[0]))
      #expect(try await test.get("/a", request).body == Caching.bytes(2))
      #expect(try await test.asked("/a") == 2)
    }
  }

  @Test func `A private cache confirms first`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", Self.fields("stale-while-revalidate=60"))
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.serve("/a", 2, Self.fields("stale-while-revalidate=60"))
      #expect(try await test.get("/a").body == Caching.bytes(2))
    }
  }

  @Test func `A changed resource is not served stale`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", Self.fields("stale-while-revalidate=60"))
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.serve("/a", 2, Self.fields("stale-while-revalidate=60"))
      test.origin.script("/a", .on(.where { $0.method == "POST" }, .status(204)))
      #expect(try await test.get("/a", ["Content-Length: 0"], method: "POST").status == 204)
      #expect(try await test.get("/a").body == Caching.bytes(2))
    }
  }

  @Test(arguments: [500, 502, 503, 504])
  func `A stale response is served in place of an error for as long as permitted`(
    _ status: Int
  ) async throws {
    try await withReverseProxy { test async throws in
      let cases = [
        ("stale-if-error=60", true), ("x", true), ("stale-if-error=5", false),
        ("must-revalidate, stale-if-error=60", false),
      ]
      for (index, (directives, isServed)) in cases.enumerated() {
        let path = "/\(index)"
        test.serve(path, Self.fields(directives))
        #expect(try await test.get(path).body == Caching.bytes(1))
        test.origin.script(path, .on(.all, .status(status, headers: [], body: Array("no".utf8))))
        let reply = try await test.get(path)
        #expect(reply.status == (isServed ? 200 : status), "\(directives)")
        #expect(reply.body == (isServed ? Caching.bytes(1) : Array("no".utf8)), "\(directives)")
        #expect(try await test.asked(path) == 2, "\(directives)")
      }
    }
  }

  @Test func `A private cache serves what it holds while the origin is unavailable`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", Self.fields("stale-if-error=5"))
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.origin.script("/a", .on(.all, .status(503)))
      #expect(try await test.get("/a").body == Caching.bytes(1))
    }
  }
}
