// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainProxy
@testable import RefrainServer

/// The page of a reverse proxy: on the operator's listener, and nowhere else.
@Suite(.timeLimit(.minutes(1))) struct PageOfNodeTests {
  private func withPage(_ body: (TestProxy) async throws -> Void) async throws {
    try await withNode(server: { $0.servesPage = true }, body)
  }

  /// The fields that the page's own script and its browser send with a change.
  private func changeFields(_ test: TestProxy) -> [String] {
    test.changeFields.map { $0.replacing(test.host, with: "127.0.0.1:\(test.adminPort)") }
  }

  @Test func `The operator's listener has the page and its files`() async throws {
    try await withPage { test async throws in
      for file in PageFile.allCases {
        let reply = try await test.admin(file.rawValue)
        #expect(reply.status == 200 && reply.body == file.bytes, "\(file)")
      }
    }
  }

  @Test func `Media of the page come from the proxy, which is another web origin`() async throws {
    try await withPage { test async throws in
      test.origin.serve(
        OriginResource(.bytes([1, 2, 3]), contentType: "audio/flac"), at: "/a.flac")
      let page = try await test.admin("/")
      let policy = try #require(page["Content-Security-Policy"])
      #expect(policy.contains("media-src 'self' http://\(test.host);"))
      let asked = test.origin.url("/a.flac").absoluteString
      let address = try #require(
        try await test.admin("/page/address?url=\(asked)").json["address"] as? String)
      #expect(address == "http://\(test.host)/a.flac")
      let media = try await test.reply(to: "/a.flac")
      #expect(media.body == [1, 2, 3])
    }
  }

  /// A browser on another machine would look for media at its own loopback address.
  @Test(arguments: ["0.0.0.0", "::"])
  func `Media come from the host of the page if the proxy listens everywhere`(
    everywhere: String
  ) async throws {
    try await withNode(server: {
      $0.servesPage = true
      $0.proxy.address = everywhere
    }) { test async throws in
      let host = "localhost:\(test.adminPort)"
      let page = try await test.admin("/", host: host)
      let policy = try #require(page["Content-Security-Policy"])
      #expect(policy.contains("media-src 'self' http://localhost:\(test.port);"))
      let asked = test.origin.url("/a.flac").absoluteString
      let reply = try await test.admin("/page/address?url=\(asked)", host: host)
      #expect(reply.json["address"] as? String == "http://localhost:\(test.port)/a.flac")
    }
  }

  @Test func `A row is removed with its responses for credentials`() async throws {
    try await withPage { test async throws in
      test.serve("/a", 1, ["Cache-Control": "public, max-age=600"])
      let authorized = ["Authorization: Basic b25lOm9uZQ=="]
      for fields in [[], authorized] {
        #expect(try await test.get("/a", fields).body == Caching.bytes(1))
      }
      test.serve("/a", 2, ["Cache-Control": "public, max-age=600"])
      let json = #"{"action":"remove","key":"\#(test.key("/a").rawValue)"}"#
      let done = try await test.admin(
        "/page/action", changeFields(test), method: "POST", body: json)
      #expect(done.status == 200, "\(done.text)")
      #expect(try await test.cache.entries().isEmpty)
      for fields in [[], authorized] {
        #expect(try await test.get("/a", fields).body == Caching.bytes(2))
      }
    }
  }

  @Test func `Other names, and pages of other sites, are refused`() async throws {
    try await withPage { test async throws in
      for place in PageFile.allCases.map(\.rawValue) + ["/page/state", "/page/events"] {
        let rebound = try await test.admin(place, host: "evil.example:\(test.adminPort)")
        #expect(rebound.status == 421, "\(place)")
        let foreign = try await test.admin(place, ["Origin: https://evil.example"])
        #expect(foreign.status == 403, "\(place)")
        // A page that the proxy serves for its origin is a foreign one as well.
        let proxied = try await test.admin(place, ["Origin: http://\(test.host)"])
        #expect(proxied.status == 403, "\(place)")
      }
    }
  }

  @Test func `Clients of the proxy find the origin's resources at the same paths`() async throws {
    try await withPage { test async throws in
      for place in ["/", "/page/state", "/page/page.js"] {
        test.origin.serve(OriginResource(.bytes([7]), contentType: "text/plain"), at: place)
        let reply = try await test.reply(to: place)
        #expect(reply.body == [7] && reply["Content-Security-Policy"] == nil, "\(place)")
      }
    }
  }

  @Test func `A change needs POST, the page's field, and the page's own host and origin`()
    async throws
  {
    try await withPage { test async throws in
      let page = try #require(test.server?.page)
      let json = #"{"action":"add","url":"\#(test.origin.url("/a").absoluteString)"}"#
      let own = changeFields(test)
      let query = "/page/action?action=add&url=" + test.origin.url("/a").absoluteString
      for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"] {
        let reply = try await test.admin(query, own, method: method)
        #expect(reply.status == 405, "\(method): \(reply.status)")
      }
      let wrong: [[String]] = [
        [], ["Content-Type: application/json"], ["X-Refrain-Page: 1"],
        own + ["Origin: https://evil.example"], own + ["Origin: null"],
        // The listener for clients serves the origin's pages: another web origin, the same site.
        own.map { $0.replacing("127.0.0.1:\(test.adminPort)", with: test.host) },
        own.map { $0.replacing("same-origin", with: "same-site") },
        own.map { $0.replacing("same-origin", with: "cross-site") },
      ]
      for fields in wrong {
        let reply = try await test.admin("/page/action", fields, method: "POST", body: json)
        #expect([403, 415].contains(reply.status), "\(fields): \(reply.status)")
      }
      for host in ["evil.example:\(test.adminPort)", "evil.example", test.host] {
        let fields = own.map { $0.replacing("127.0.0.1:\(test.adminPort)", with: host) }
        let reply = try await test.admin(
          "/page/action", fields, method: "POST", host: host, body: json)
        #expect(reply.status == 421, "\(host): \(reply.status)")
      }
      #expect(page.downloads.items.isEmpty)
      let done = try await test.admin("/page/action", own, method: "POST", body: json)
      #expect(done.status == 200 && page.downloads.items.count == 1, "\(done.text)")
    }
  }

  @Test func `Clients of the proxy cannot ask for changes`() async throws {
    try await withPage { test async throws in
      let page = try #require(test.server?.page)
      let json = #"{"action":"add","url":"\#(test.origin.url("/a").absoluteString)"}"#
      for (host, fields) in [
        (test.host, test.changeFields), ("127.0.0.1:\(test.adminPort)", changeFields(test)),
      ] {
        let reply = try await test.connect { connection async throws in
          try await connection.request(
            "/page/action", fields + ["Content-Length: \(json.utf8.count)"], method: "POST",
            host: host)
          try await connection.send(json)
          return try await connection.readReply()
        }
        #expect(reply["Content-Security-Policy"] == nil && reply.json["message"] == nil)
      }
      #expect(page.downloads.items.isEmpty)
    }
  }

  @Test func `An open page of a node receives what its clients cause`() async throws {
    try await withPage { test async throws in
      let fields = [Field("Cache-Control", "max-age=60")]
      for path in ["/a.flac", "/b.flac"] {
        test.origin.serve(
          OriginResource(
            .bytes([1, 2, 3]), contentType: "audio/flac", etag: "\"1\"", headers: fields),
          at: path)
      }
      let host = "127.0.0.1:\(test.adminPort)"
      try await RawConnection.open(port: test.adminPort) { connection async throws in
        try await connection.request("/page/events", host: host)
        let head = try await connection.readHead()
        #expect(head.status == 200 && head["Content-Type"] == "text/event-stream")
        for path in ["/a.flac", "/b.flac"] {
          let reply = try await test.reply(to: path)
          #expect(reply.body == [1, 2, 3])
          let key = test.key(path).rawValue
          _ = try await connection.nextEvent { event in
            (event["rows"] as? [[String: Any]] ?? []).contains {
              $0["key"] as? String == key && $0["stored"] as? Int == 3
            }
          }
        }
        _ = try await test.admin("/a.flac", method: "PURGE")
        let gone = try await connection.nextEvent { ($0["removed"] as? [Any])?.isEmpty == false }
        #expect(gone["removed"] as? [String] == [test.key("/a.flac").rawValue])
      }
    }
  }

  @Test func `PURGE of the root removes the origin's root`() async throws {
    try await withPage { test async throws in
      let reply = try await test.admin("/", method: "PURGE")
      #expect(reply.status == 200 && reply["Content-Type"]?.hasPrefix("application/json") == true)
    }
  }

  @Test func `Where there is a token, the operator's listener has no page`() async throws {
    try await RefrainServerTests.withPage(
      server: { configuration, _ in
        configuration.adminAddress = ListeningAddress(host: "127.0.0.1", port: 0)
      }
    ) { test, _ async throws in
      #expect(try await test.admin("/").status == 404)
      #expect(try await test.admin("/page/state").status == 404)
      #expect(try await test.page("/").status == 200)
    }
  }
}
