// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// A shared cache reuses responses other than resources where the origin states for how long
/// (RFC 9111 §3, §4.2).
@Suite(.timeLimit(.minutes(2))) struct SmallResponseTests {
  private static let hour = HTTPDate.format(Date() + 3600)

  static let explicit: [[Field]] = [
    [Field("Cache-Control", "max-age=60")],
    [Field("Cache-Control", "max-age=60"), Field("Age", "x")],
    [Field("Cache-Control", "s-maxage=60, max-age=0")],
    [Field("Expires", hour)],
    [Field("Cache-Control", "public"), Field("Expires", hour)],
    [Field("Cache-Control", "no-store"), Field("CDN-Cache-Control", "max-age=60")],
    [Field("Cache-Control", "max-age=60"), Field("Vary", "Accept-Encoding, X-Kind")],
  ]

  static let others: [[Field]] = [
    [], [Field("Cache-Control", "public")], [Field("Cache-Control", "no-store, max-age=60")],
    [Field("Cache-Control", "private, max-age=60")],
    [Field("Cache-Control", "no-cache, max-age=60")],
    [Field("Cache-Control", "max-age=0")], [Field("Expires", "0")],
    [Field("Cache-Control", "max-age=60"), Field("Age", "60")],
    [Field("Cache-Control", "max-age=60"), Field("Vary", "*")],
    [Field("Cache-Control", "max-age=60"), Field("Set-Cookie", "a=b")],
    [Field("Cache-Control", "max-age=60"), Field("Set-Cookie2", "a=b; Version=1")],
    [Field("Cache-Control", "max-age=60"), Field("CDN-Cache-Control", "no-store")],
  ]

  static let statuses = [
    201, 202, 204, 207, 299, 300, 301, 302, 303, 307, 308, 401, 403, 404, 405, 410, 418, 451,
    500, 501, 502, 503, 504, 599,
  ]

  private func serve(_ status: Int, _ fields: [Field], at path: String, _ test: TestProxy) {
    let location = (300..<400).contains(status) ? [Field("Location", "http://a.example/x")] : []
    let more = [Field("X-Why", "so"), Field("ETag", "\"1\"")]
    test.origin.script(
      path,
      .on(.all, .status(status, headers: fields + location + more, body: Array("text".utf8))))
  }

  @Test(arguments: statuses)
  func `A response with explicit freshness is reused`(_ status: Int) async throws {
    try await withReverseProxy { test async throws in
      for (index, fields) in Self.explicit.enumerated() {
        let path = "/\(index)"
        serve(status, fields, at: path, test)
        let first = try await test.get(path)
        let count = try await test.asked(path)
        let what: Comment = "\(status) \(fields)"
        for request in [
          [], ["Range: bytes=1-2"], ["If-None-Match: \"1\""], ["Accept-Encoding: br"],
          ["Cache-Control: only-if-cached"],
        ] {
          let next = try await test.get(path, request)
          #expect(next.status == status && next.body == first.body && next.isComplete, what)
          #expect(next["X-Why"] == "so" && next["Location"] == first["Location"], what)
          #expect(next["Age"].flatMap { Int($0) } != nil, what)
          #expect(next["Cache-Status"]?.hasPrefix("refrain; hit; ttl=") == true, what)
        }
        let head = try await test.get(path, method: "HEAD")
        #expect(head.status == status && head.body.isEmpty, what)
        #expect(head["Content-Length"] == (status == 204 ? nil : "4"), what)
        #expect(try await test.asked(path) == count, what)
        #expect(test.log.all.last?.source == .hit)
      }
      #expect(try await test.cache.entries().isEmpty)
    }
  }

  @Test(arguments: [400, 413, 414, 421, 429, 431])
  func `An error about one request alone is not reused`(_ status: Int) async throws {
    try await withReverseProxy { test async throws in
      serve(status, [Field("Cache-Control", "max-age=60")], at: "/a", test)
      #expect(
        try await test.get("/a", ["X-Long: \(String(repeating: "a", count: 100))"]).status == status
      )
      test.origin.script("/a", FaultScript())
      test.serve("/a", ["Cache-Control": "max-age=60"])
      #expect(try await test.get("/a").status == 200)
    }
  }

  @Test func `A redirect whose Location is too long to be kept is not reused`() async throws {
    try await withReverseProxy { test async throws in
      let location = Field("Location", "http://a.example/" + String(repeating: "a", count: 9_000))
      test.origin.script(
        "/a", .on(.all, .status(302, headers: [Field("Cache-Control", "max-age=60"), location])))
      for _ in 0..<2 { #expect(try await test.get("/a")["Location"] == location.value) }
    }
  }

  @Test(arguments: statuses)
  func `A response without explicit freshness is requested again`(_ status: Int) async throws {
    try await withReverseProxy { test async throws in
      for (index, fields) in Self.others.enumerated() {
        let path = "/\(index)"
        serve(status, fields, at: path, test)
        #expect(try await test.get(path).status == status)
        let count = try await test.asked(path)
        #expect(try await test.get(path).status == status)
        #expect(try await test.asked(path) > count, "\(status) \(fields)")
      }
    }
  }

  @Test func `A private cache keeps none`() async throws {
    try await withProxy { test async throws in
      serve(404, [Field("Cache-Control", "max-age=60")], at: "/a", test)
      for _ in 0..<2 { #expect(try await test.get("/a").status == 404) }
      #expect(try await test.asked("/a") == 2)
    }
  }

  @Test(arguments: [
    (404, "no-store, must-understand, max-age=60", true),
    (404, "must-understand, max-age=60", true), (404, "no-store, max-age=60", false),
    (599, "no-store, must-understand, max-age=60", false),
    (599, "must-understand, max-age=60", false), (599, "max-age=60", true),
    (200, "no-store, must-understand, max-age=60", true), (200, "no-store, max-age=60", false),
    (404, "private, no-store, must-understand, max-age=60", false),
  ])
  func `must-understand outranks no-store for a known status`(
    _ status: Int, _ control: String, _ isReused: Bool
  ) async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": control])
      if status != 200 { serve(status, [Field("Cache-Control", control)], at: "/a", test) }
      #expect(try await test.get("/a").status == status)
      let count = try await test.asked("/a")
      #expect(try await test.get("/a").status == status)
      #expect(try await test.asked("/a") == count + (isReused ? 0 : status == 599 ? 2 : 1))
    }
  }

  @Test func `A response is selected by the fields in Vary`() async throws {
    try await withReverseProxy { test async throws in
      let fields = [Field("Cache-Control", "max-age=60"), Field("Vary", "Accept-Language")]
      func fault(_ text: String) -> Fault {
        .status(404, headers: fields, body: Array(text.utf8))
      }
      test.origin.script(
        "/a",
        .on(.where { $0.headers.first("Accept-Language") == "de" }, fault("nichts"))
          .on(.where { $0.headers.first("Accept-Language") != "de" }, fault("nothing")))
      for language in ["de", "en", "de", "en", "en"] {
        let reply = try await test.get("/a", ["Accept-Language: \(language)"])
        #expect(reply.text == (language == "de" ? "nichts" : "nothing"))
      }
      #expect(try await test.asked("/a") == 4)
    }
  }

  @Test func `A response is not given to others than it is for`() async throws {
    try await withReverseProxy { test async throws in
      serve(404, [Field("Cache-Control", "max-age=60")], at: "/a", test)
      let requests = [
        [], ["Cookie: a=b"], ["Authorization: Basic b25lOm9uZQ=="],
        ["Authorization: Basic dHdvOnR3bw=="],
      ]
      for _ in 0..<2 { for request in requests { _ = try await test.get("/a", request) } }
      // Only the one without credentials is reused.
      #expect(try await test.asked("/a") == 7)
      serve(404, [Field("Cache-Control", "public, max-age=60")], at: "/b", test)
      for _ in 0..<2 { for request in requests { _ = try await test.get("/b", request) } }
      #expect(try await test.asked("/b") == 3)
    }
  }

  @Test func `A request that wants a newer response replaces the stored one`() async throws {
    try await withReverseProxy { test async throws in
      for (index, request) in ["no-cache", "max-age=0", "min-fresh=100"].enumerated() {
        let path = "/\(index)"
        serve(404, [Field("Cache-Control", "max-age=60"), Field("Age", "1")], at: path, test)
        #expect(try await test.get(path).status == 404)
        test.origin.script(path, FaultScript())
        test.serve(path, ["Cache-Control": "max-age=60"])
        #expect(try await test.get(path).status == 404)
        for fields in [["Cache-Control: \(request)"], []] {
          #expect(try await test.get(path, fields).body == Caching.bytes(1), "\(request)")
        }
      }
    }
  }

  @Test func `It answers the URL alone that was requested, whatever the key ignores`() async throws
  {
    try await withReverseProxy(cache: {
      $0.cacheKey = CacheKeyRule.forStreams(ignoring: ["token"]).key(for:)
    }) { test async throws in
      let refusal = Fault.status(403, headers: [Field("Cache-Control", "public, max-age=60")])
      test.serve("/a", ["Cache-Control": "max-age=60"])
      test.origin.script("/a", .on(.where { $0.target.contains("token=bad") }, refusal))
      #expect(try await test.get("/a?token=bad").status == 403)
      #expect(try await test.get("/a?token=good").status == 200)
    }
  }

  @Test func `Memory is bounded`() async throws {
    try await withReverseProxy { test async throws in
      let body = SyntheticBytes(seed: 1).bytes(in: 0..<1000)
      // One more than are kept.
      for number in 0...1024 {
        test.origin.script(
          "/\(number)",
          .on(.all, .status(404, headers: [Field("Cache-Control", "max-age=60")], body: body)))
        #expect(try await test.get("/\(number)").status == 404)
      }
      for number in [0, 1024] { #expect(try await test.get("/\(number)").body == body) }
      #expect(try await test.asked("/0") == 2)
      #expect(try await test.asked("/1024") == 1)
    }
  }
}
