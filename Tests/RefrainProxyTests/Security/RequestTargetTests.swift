// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The origin receives the client's path, byte for byte.
@Suite(.timeLimit(.minutes(2))) struct RequestTargetTests {
  @Test(
    arguments: ["GET", "HEAD", "DELETE", "PUT", "POST"],
    ["/caf%E9.flac", "/%FF", "/a/%C3%28", "/%C3%A9?%E9", "/%2F%41?x=/?", "/a;b=c,d", "/%25E9"])
  func `The origin receives the path and query byte for byte`(
    _ method: String, _ path: String
  ) async throws {
    let server = try EchoServer()
    defer { server.stop() }
    let origin = try server.url
    try await withReverseProxy(
      proxy: {
        $0.origin = origin
        $0.relayedMethods = .all
      }
    ) { test async throws in
      for fields in [[], ["Cache-Control: no-store"]] {
        let body = ["PUT", "POST"].contains(method) ? ["Content-Length: 0"] : []
        let reply = try await test.connect {
          try await $0.reply(to: path, fields + body, method: method, host: test.host)
        }
        #expect(reply.status == 200)
      }
      #expect(!server.requests.isEmpty)
      // A HEAD request may be fetched with GET for the cache.
      let methods = method == "HEAD" ? ["HEAD", "GET"] : [method]
      for request in server.requests {
        #expect(methods.contains { request.head.hasPrefix("\($0) \(path) HTTP/1.1\r\n") })
      }
    }
  }
}
