// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Requests that a page can make a browser send to a proxy with privileges at the origin.
@Suite(.timeLimit(.minutes(2))) struct CrossSiteTests {
  private func withPrivileges(
    _ methods: RelayedMethods, allowedWebOrigin: String? = nil,
    _ body: (TestProxy, EchoServer) async throws -> Void
  ) async throws {
    try await withEcho(
      proxy: {
        $0.relayedMethods = methods
        $0.allowedWebOrigin = allowedWebOrigin
        $0.headers["Authorization"] = "Bearer secret"
      }, body)
  }

  private func status(
    _ test: TestProxy, _ method: String, _ fields: [String] = []
  ) async throws -> Int {
    try await test.reply(to: "/a", fields + ["Content-Length: 0"], method: method).status
  }

  @Test func `Unsafe methods are refused unless they are configured`() async throws {
    try await withPrivileges(.none) { test, server async throws in
      for method in ["POST", "PUT", "DELETE", "PATCH", "PROPFIND", "X-ODD"] {
        let reply = try await test.reply(to: "/a", ["Content-Length: 0"], method: method)
        #expect(reply.status == 405, "\(method)")
        #expect(reply["Allow"] == "GET, HEAD, OPTIONS")
      }
      #expect(server.requests.isEmpty)
    }
    try await withPrivileges(.only(["POST", "MKCOL"])) { test, server async throws in
      for (method, expected) in [("POST", 200), ("MKCOL", 200), ("PUT", 405), ("OPTIONS", 200)] {
        #expect(try await status(test, method) == expected, "\(method)")
      }
      #expect(server.requests.count == 3)
    }
  }

  @Test func `An unsafe request from another site's page is refused`() async throws {
    try await withPrivileges(.all) { test, server async throws in
      for fields in [
        ["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"],
        ["Origin: https://evil.example"], ["Origin: null"],
        ["Origin: http://\(test.host)", "Sec-Fetch-Site: cross-site"],
        ["Origin: http://\(test.host).evil.example"],
      ] {
        for method in ["POST", "DELETE"] {
          #expect(try await status(test, method, fields) == 403, "\(fields)")
        }
      }
      #expect(server.requests.isEmpty)
      for fields in [
        [], ["Sec-Fetch-Site: same-origin"], ["Sec-Fetch-Site: none"],
        ["Origin: http://\(test.host)"],
      ] {
        #expect(try await status(test, "POST", fields) == 200, "\(fields)")
      }
    }
  }

  @Test(arguments: [("https://good.example", 200), ("*", 403), ("https://other.example", 403)])
  func `An allowed web origin may write, but a wildcard permits no writes`(
    _ allowed: String, _ expected: Int
  ) async throws {
    try await withPrivileges(.all, allowedWebOrigin: allowed) { test, _ async throws in
      let fields = ["Origin: https://good.example", "Sec-Fetch-Site: cross-site"]
      #expect(try await status(test, "POST", fields) == expected)
    }
  }
}
