// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The clients that may request each resource.
@Suite(.timeLimit(.minutes(2))) struct AccessTests {
  @Test func `Every invalid token receives the same 404 response`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      let target = try test.target("/a")
      #expect(try await test.get("/a").status == 200)
      #expect(try await test.get("/a").status == 200)
      let parts = target.split(separator: "/", maxSplits: 1)
      let token = String(parts[0])
      let wrong = [
        "/", "/x", "/\(token.dropLast())/\(parts[1])", "/\(token)x/\(parts[1])",
        "/\(token.dropLast())\(token.last == "A" ? "B" : "A")/\(parts[1])",
        "/\(token.lowercased().uppercased())/\(parts[1])", "/\(token)%41/\(parts[1])",
        "//\(token)/x",
        "/?\(target)", "/\(String(token.reversed()))/http/[", "/x/ftp/example.com/",
      ]
      for method in ["GET", "HEAD", "POST", "OPTIONS", "TRACE"] {
        var answers: Set<String> = []
        for target in wrong {
          let reply = try await test.reply(to: target, method: method)
          #expect(reply.status == 404, "\(method) \(target)")
          let fields = reply.fields.filter { $0.name != "Date" }.map { "\($0.name): \($0.value)" }
          answers.insert((fields + [reply.text]).joined(separator: "\n"))
        }
        #expect(answers.count == 1, "\(answers)")
        #expect(!answers.contains { $0.contains(token) })
      }
      #expect(try await test.asked("/a") == 1)
      #expect(!test.log.all.contains { $0.url.contains(token) })
    }
  }

  /// Runs a test with a proxy that may use its origin, and with another server.
  private func withForbidden(
    cache change: (inout MediaCache.Configuration, OriginServer) -> Void = { _, _ in },
    _ body: (TestProxy, OriginServer) async throws -> Void
  ) async throws {
    try await withOrigin { other in
      other.serve(Caching.resource(9, [:]), at: "/secret")
      try await withProxy(
        cache: { change(&$0, other) },
        proxy: { configuration, origin in
          configuration.allowedHosts = ["127.0.0.1:\(origin.port)"]
        }
      ) { try await body($0, other) }
      #expect(other.connectionsAccepted == 0)
    }
  }

  @Test
  func `A host that is not allowed is never contacted, not even by a redirect`() async throws {
    try await withForbidden { test, other async throws in
      test.serve("/a", [:])
      #expect(try await test.get("/a").status == 200)
      let token = try test.target("/a").split(separator: "/")[0]
      let direct = "/\(token)/http/127.0.0.1:\(other.port)/secret"
      for method in ["GET", "HEAD"] {
        for headers in [[], ["Cache-Control: no-store"], ["Range: bytes=5-9"]] {
          let reply = try await test.reply(to: direct, headers, method: method)
          #expect(reply.status == 403)
          let places = [
            other.url("/secret").absoluteString, "//127.0.0.1:\(other.port)/secret",
            "http://127.0.0.1:\(test.origin.port)@127.0.0.1:\(other.port)/secret",
            "HTTP://127.0.0.1:\(other.port)/secret",
          ]
          for (index, place) in places.enumerated() {
            let path = "/r\(index)"
            test.origin.script(path, .on(.all, .redirect(302, to: place)))
            let reply = try await test.get(path, headers, method: method)
            #expect([302, 403, 502].contains(reply.status), "\(place): \(reply.status)")
            #expect(reply.body != Caching.bytes(9))
          }
        }
      }
    }
  }

  @Test func `A resource returned by authorize is limited to the allowed hosts`() async throws {
    try await withForbidden(cache: { configuration, other in
      let secret = other.url("/secret")
      configuration.authorize = { resource, _ in
        Resource(url: secret, headers: resource.headers)
      }
    }) { test, _ async throws in
      test.origin.script("/a", .on(.all, .unauthorized))
      #expect(try await test.get("/a").status >= 400)
    }
  }

  @Test func `User information in a proxied host is refused`() async throws {
    try await withProxy { test async throws in
      let token = try test.target("/a").split(separator: "/")[0]
      for host in [
        "me:secret@127.0.0.1:\(test.origin.port)", "me@localhost", "me%40localhost", "@h",
      ] {
        let reply = try await test.reply(to: "/\(token)/http/\(host)/a")
        #expect(reply.status == 400, "\(host)")
      }
      #expect(test.origin.connectionsAccepted == 0)
    }
  }

  @Test func `A non-loopback address without allowed hosts is refused`() async throws {
    try await withProxy { test async throws in
      for address in ["0.0.0.0", "::", "192.0.2.1", "", "example.com", "::ffff:192.0.2.1"] {
        var configuration = CacheProxy.Configuration()
        configuration.address = address
        let error = #expect(throws: CacheProxyError.self) {
          _ = try CacheProxy(cache: test.cache, configuration: configuration)
        }
        #expect(error?.code == .invalidConfiguration, "\(address)")
        configuration.allowedHosts = ["media.example"]
        _ = try CacheProxy(cache: test.cache, configuration: configuration)
      }
    }
  }
}

@Suite(.timeLimit(.minutes(2))) struct WebOriginTests {
  private static let origin = "Origin: https://page.example"

  private func fields(_ reply: Reply) -> [String] {
    reply.fields.map { $0.name.lowercased() }.filter { $0.hasPrefix("access-control-") }
  }

  @Test func `No CORS fields are sent unless a web origin is allowed`() async throws {
    try await withProxy { test async throws in
      test.serve(
        "/a", ["Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "true"])
      for headers in [[Self.origin], [Self.origin, "Cache-Control: no-store"]] {
        for path in ["/a", "/a", "/none"] {
          #expect(fields(try await test.get(path, headers)).isEmpty)
        }
      }
      let preflight = try await test.get(
        "/a", [Self.origin, "Access-Control-Request-Method: GET"], method: "OPTIONS")
      #expect(preflight.status == 405)
      #expect(fields(preflight).isEmpty)
    }
  }

  @Test func `The allowed web origin may read every response, including errors`() async throws {
    try await withProxy(proxy: { configuration, _ in
      configuration.allowedWebOrigin = "https://page.example"
    }) { test async throws in
      test.serve("/a", ["Access-Control-Allow-Origin": "*", "Cache-Control": "max-age=600"])
      test.origin.script("/gone", .on(.all, .status(410)))
      for (path, headers, status) in [
        ("/a", [], 200), ("/a", [], 200), ("/a", ["Range: bytes=0-4"], 206),
        ("/a", ["Range: bytes=9999-"], 416), ("/a", ["If-None-Match: \"seed-1\""], 304),
        ("/a", ["If-Match: \"x\""], 412), ("/gone", [], 410),
        ("/a", ["Cache-Control: no-store"], 200),
      ] as [(String, [String], Int)] {
        let reply = try await test.get(path, headers + [Self.origin])
        #expect(reply.status == status)
        let allowed = reply.fields.filter { $0.name == "Access-Control-Allow-Origin" }.map(\.value)
        #expect(allowed == ["https://page.example"], "\(path) \(headers)")
        #expect(reply["Access-Control-Allow-Credentials"] == nil)
      }
      let preflight = try await test.get(
        "/a",
        [
          Self.origin, "Access-Control-Request-Method: GET",
          "Access-Control-Request-Headers: range",
        ], method: "OPTIONS")
      #expect(preflight.status == 204)
      #expect(preflight["Access-Control-Allow-Origin"] == "https://page.example")
      #expect(preflight["Access-Control-Allow-Headers"] == "range")
      let wrong = try await test.reply(
        to: "/wrong/http/h/", [Self.origin, "Access-Control-Request-Method: GET"], method: "OPTIONS"
      )
      #expect(wrong.status == 404)
    }
  }
}
