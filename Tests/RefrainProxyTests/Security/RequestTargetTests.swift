// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The request that the origin receives, and the URLs of a proxy that clients cannot use.
@Suite(.timeLimit(.minutes(2))) struct RequestTargetTests {
  private static let paths = [
    "/caf%E9.flac", "/%FF", "/a/%C3%28", "/%C3%A9?%E9", "/%2F%41?x=/?", "/a;b=c,d", "/%25E9",
    "/a?b?c",
  ]

  @Test(arguments: ["GET", "HEAD", "DELETE", "PUT", "POST", "get"])
  func `The origin receives the path and query byte for byte`(_ method: String) async throws {
    // A HEAD request may be fetched with GET for the cache.
    let methods = method == "HEAD" ? ["HEAD", "GET"] : [method]
    try await withEcho { test, server async throws in
      for path in Self.paths {
        let before = server.requests.count
        for fields in [[], ["Cache-Control: no-store"]] {
          let body = ["PUT", "POST"].contains(method) ? ["Content-Length: 0"] : []
          #expect(try await test.reply(to: path, fields + body, method: method).status == 200)
        }
        let requests = server.requests.dropFirst(before)
        #expect(!requests.isEmpty)
        for request in requests {
          #expect(methods.contains { request.head.hasPrefix("\($0) \(path) HTTP/1.1\r\n") })
        }
      }
    }
  }
}
