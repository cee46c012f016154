// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// What goes to an origin is the path that the client sent, or nothing.
@Suite(.timeLimit(.minutes(2))) struct SentTargetTests {
  @Test(
    arguments: ["GET", "HEAD", "DELETE", "PUT", "POST"], ["/caf%E9.flac", "/%FF", "/a/%C3%28"])
  func `A path that cannot be sent as it is spelled is refused`(
    _ method: String, _ path: String
  ) async throws {
    let server = try EchoServer()
    defer { server.stop() }
    let origin = try server.url
    try await withReverseProxy(proxy: { $0.origin = origin }) { test async throws in
      for fields in [[], ["Cache-Control: no-store"]] {
        let reply = try await test.connect {
          try await $0.reply(to: path, fields, method: method, host: test.host)
        }
        #expect(reply.status == 400)
      }
      #expect(server.requests.isEmpty)
    }
  }

  @Test(arguments: [
    "/", "", "?", "?a=b", "/a%20b", "/%C3%A9?%E9", "//b//", "/%2F%41?x=/?", "/a;b=c,d", "/a/?",
    "/%25E9", "/a#b",
  ])
  func `Other paths are sent as they are spelled`(_ path: String) throws {
    let url = try #require(URL(string: "http://a.example:8080" + path))
    #expect(SentTarget.isAsSpelled(url))
  }
}
