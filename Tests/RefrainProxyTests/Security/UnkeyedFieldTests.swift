// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// An unkeyed field by which a client could change everybody's response never reaches the origin of
/// a shared cache.
@Suite(.timeLimit(.minutes(2))) struct UnkeyedFieldTests {
  private static let fields = [
    "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "10.0.0.1",
    "X-Forwarded-Prefix": "/x", "Forwarded": "host=evil.example", "X-Original-URL": "/admin",
    "X-Rewrite-URL": "/admin", "X-Original-Host": "evil.example", "X-Host": "evil.example",
    "X-HTTP-Method-Override": "DELETE", "X-HTTP-Method": "DELETE", "X-Method-Override": "PUT",
    "x-forwarded-scheme": "nothttps", "X-Real-IP": "10.0.0.1",
  ]

  @Test func `Unkeyed request fields are not sent to the origin`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": "no-cache"])
      let sent = Self.fields.map { "\($0.key): \($0.value)" } + ["X-Stays: 1"]
      let ways: [(String, [String])] = [
        ("GET", []), ("GET", []), ("HEAD", []), ("GET", ["Cache-Control: no-store"]),
        ("POST", ["Content-Length: 0"]),
      ]
      for (method, more) in ways {
        _ = try await test.get("/a", sent + more, method: method)
        let seen = try #require(try await test.settledLog("/a").requests.last).request
        #expect(seen.method == (method == "HEAD" ? "GET" : method))
        for name in Self.fields.keys { #expect(seen.headers.first(name) == nil, "\(name)") }
        #expect(seen.headers.first("X-Stays") == "1")
      }
    }
  }

  @Test func `A field that the proxy sets replaces the client's`() async throws {
    try await withReverseProxy(proxy: { $0.headers["X-Forwarded-Proto"] = "https" }) {
      test async throws in
      test.serve("/a", [:])
      _ = try await test.get("/a", ["X-Forwarded-Proto: http"])
      let seen = try #require(try await test.settledLog("/a").requests.last).request
      #expect(seen.headers.first("X-Forwarded-Proto") == "https")
    }
  }
}

/// The privileges of a page in the proxy's own web origin, which pages of many origins share.
@Suite(.timeLimit(.minutes(2))) struct SandboxTests {
  private func policies(_ reply: Reply) -> [String] {
    reply.fields.filter { $0.name.lowercased() == "content-security-policy" }.map(\.value)
  }

  private func serve(
    _ test: TestProxy, _ path: String, _ type: String, _ headers: [String: String]
  ) {
    var resource = Caching.resource(1, headers)
    resource.contentType = type
    test.origin.serve(resource, at: path)
  }

  @Test func `HTML, XML and SVG documents under a token are sandboxed`() async throws {
    try await withProxy { test async throws in
      for (index, type) in [
        "text/html", "text/html; charset=utf-8", "Application/XHTML+XML", "image/svg+xml",
        "text/xml", "application/octet-stream, text/html",
      ].enumerated() {
        for control in ["max-age=600", "no-store"] {
          let path = "/\(index)/\(control)"
          serve(
            test, path, type, ["Cache-Control": control, "Content-Security-Policy": "img-src *"])
          for headers in [[], [], ["Range: bytes=0-9"], ["Cache-Control: no-store"]] {
            let reply = try await test.get(path, headers)
            #expect(reply.status < 300)
            #expect(policies(reply) == ["img-src *", "sandbox"], "\(type) \(control) \(headers)")
          }
        }
        let body = Array("x".utf8)
        test.origin.script(
          "/none", .on(.all, .status(404, headers: [Field("Content-Type", type)], body: body)))
        #expect(try await policies(test.get("/none")).contains("sandbox"), "\(type)")
      }
    }
  }

  @Test func `Neither media nor a reverse proxy's pages have a Content-Security-Policy`()
    async throws
  {
    try await withProxy { test async throws in
      for type in ["audio/flac", "video/mp4", "image/png", "application/vnd.apple.mpegurl"] {
        serve(test, "/\(type)", type, [:])
        for _ in 0..<2 { #expect(try await policies(test.get("/\(type)")).isEmpty, "\(type)") }
      }
    }
    try await withReverseProxy { test async throws in
      serve(test, "/a", "text/html", [:])
      for _ in 0..<2 { #expect(try await policies(test.get("/a")).isEmpty) }
    }
  }
}
