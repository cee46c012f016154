// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// A URL with dot segments is requested as browsers and curl request it (RFC 3986 §5.2.4).
@Suite(.timeLimit(.minutes(1))) struct DotSegmentTests {
  private func routes(origin: String? = nil) throws -> Routes {
    var configuration = CacheProxy.Configuration()
    configuration.token = "abcdefghijklmnop"
    configuration.origin = try origin.map { try #require(URL(string: $0)) }
    if origin != nil { configuration.token = nil }
    return try Routes(configuration)
  }

  @Test(
    arguments: [
      ("/x/../a.mp3", "/a.mp3"), ("/./a.mp3?q=/../b", "/a.mp3?q=/../b"), ("/../../a", "/a"),
      ("/x/..", "/"), ("/x/y/.", "/x/y/"), ("/x/%2e%2E/a%2Fb", "/a%2Fb"), ("/x/.%2e/./y", "/y"),
      ("/%2E/a", "/a"), ("/x//../a", "/x/a"), ("/.../..a/a..", "/.../..a/a.."),
      ("/a%2F..%2Fb", "/a%2F..%2Fb"), ("/.hidden/%2ea", "/.hidden/%2ea"), ("?/../x", "/?/../x"),
    ])
  func `The proxy's URL has none`(_ path: String, _ resolved: String) throws {
    let url = try #require(URL(string: "https://a.example" + path))
    #expect(
      try routes().target(for: url) == "/abcdefghijklmnop/https/a.example" + resolved)
  }

  @Test func `A reverse proxy serves what remains under its origin`() throws {
    let routes = try routes(origin: "https://a.example/open")
    for (path, target) in [
      ("/open/x/../a", "/a"), ("/b/../open/a", "/a"), ("/open/../secret", nil),
      ("/open/%2e%2e/secret", nil), ("/open/..", nil), ("/open/.", "/"),
    ] {
      let url = try #require(URL(string: "https://a.example" + path))
      #expect(routes.target(for: url) == target, "\(path)")
    }
  }

  @Test func `Both spellings share what is stored`() async throws {
    try await withProxy { test async throws in
      test.serve("/b/a", ["Cache-Control": "max-age=600"])
      for path in ["/b/a", "/x/../b/./a", "/b/%2e/a"] {
        #expect(try await test.get(path).status == 200)
      }
      let log = try await test.settledLog("/b/a")
      #expect(log.requests.map(\.request.target) == ["/b/a"])
    }
  }
}
