// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainServer

/// Who may see and use the page.
@Suite(.timeLimit(.minutes(1))) struct PageSecurityTests {
  private static let places =
    PageFile.allCases.map(\.rawValue) + [
      "/page/state", "/page/address?url=x",
    ]

  @Test func `Every response of the page has the fields that protect it`() async throws {
    try await withPage { test, _ async throws in
      for place in Self.places + ["/page/action"] {
        let reply = try await test.page(place)
        #expect([200, 400, 405].contains(reply.status), "\(place): \(reply.status)")
        let policy = reply["Content-Security-Policy"] ?? ""
        #expect(policy.hasPrefix("default-src 'self';"), "\(place)")
        #expect(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"))
        #expect(!policy.contains("unsafe"))
        #expect(reply["Referrer-Policy"] == "no-referrer")
        #expect(reply["X-Content-Type-Options"] == "nosniff")
        #expect(reply["Cross-Origin-Resource-Policy"] == "same-origin")
        #expect(reply["Cache-Control"] == "no-store")
        #expect(reply["Access-Control-Allow-Origin"] == nil)
      }
    }
  }

  @Test func `A wrong token finds no page`() async throws {
    try await withPage { test, _ async throws in
      let wrong = String(repeating: "A", count: test.token.count)
      for place in ["/", "", "/page/state", "/page/action", "/page/page.js"] {
        let reply = try await test.reply(to: "/\(wrong)\(place)")
        #expect(reply.status == 404 && !reply.text.contains("<"), "\(place)")
      }
    }
  }

  @Test func `A name that points to this computer from elsewhere is refused`() async throws {
    // DNS rebinding: the browser sends the name of the page's own site.
    try await withPage { test, page async throws in
      for host in ["evil.example:\(test.port)", "evil.example", "127.0.0.1.nip.io:\(test.port)"] {
        for place in Self.places {
          #expect(try await test.page(place, host: host).status == 421, "\(host)\(place)")
        }
        let fields = test.changeFields.map { $0.replacing(test.host, with: host) }
        let reply = try await test.change(
          #"{"action":"add","url":"https://example.org/"}"#, fields: fields, host: host)
        #expect(reply.status == 421)
      }
      #expect(page.downloads.items.isEmpty)
    }
  }

  @Test func `A page of another site cannot ask for changes`() async throws {
    try await withPage { test, page async throws in
      let own = test.changeFields
      let json = "Content-Type: application/json"
      let header = "X-Refrain-Page: 1"
      let wrong: [[String]] = [
        // Forms, and fetch without a preflight: no own field.
        [json], ["Content-Type: text/plain"], ["Origin: http://\(test.host)", json],
        // A foreign origin, whatever else it says.
        ["Origin: https://evil.example", header, json], ["Origin: null", header, json],
        ["Origin: http://\(test.host).evil.example", header, json],
        ["Origin: http://127.0.0.1:\(test.port + 1)", header, json],
        ["Origin: file://\(test.host)", header, json],
        own + ["Origin: https://evil.example"],
        ["Sec-Fetch-Site: cross-site", header, json], ["Sec-Fetch-Site: same-site", header, json],
        // Not a script of the page.
        ["Origin: http://\(test.host)", header, "Content-Type: text/plain"],
        ["Origin: http://\(test.host)", "X-Refrain-Page: 0", json],
      ]
      for fields in wrong {
        let reply = try await test.change(
          #"{"action":"add","url":"https://example.org/"}"#, fields: fields)
        #expect([403, 415].contains(reply.status), "\(fields): \(reply.status)")
      }
      #expect(page.downloads.items.isEmpty)
    }
  }

  @Test func `Changes need POST, and everything else is read`() async throws {
    try await withPage { test, page async throws in
      let query = "?action=add&url=https://example.org/"
      for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"] {
        let reply = try await test.page(
          "/page/action" + query, test.changeFields, method: method)
        #expect(reply.status == 405, "\(method)")
        #expect(reply["Allow"] == "POST")
      }
      for place in Self.places {
        let reply = try await test.page(place, ["Content-Length: 0"], method: "POST")
        #expect(reply.status == 405, "\(place)")
        #expect(reply["Allow"] == "GET, HEAD")
      }
      #expect(page.downloads.items.isEmpty)
    }
  }

  @Test func `No preflight permits another site to send the field of a change`() async throws {
    // Even where pages of other sites may read the media.
    try await withPage(proxy: { configuration, _ in configuration.allowedWebOrigin = "*" }) {
      test, _ async throws in
      let reply = try await test.page(
        "/page/action",
        [
          "Origin: https://evil.example", "Access-Control-Request-Method: POST",
          "Access-Control-Request-Headers: x-refrain-page",
        ], method: "OPTIONS")
      #expect(reply.status == 405 || reply.status == 403)
      #expect(!reply.fields.contains { $0.name.lowercased().hasPrefix("access-control-") })
    }
  }

  @Test func `Another site can link to the page, but neither embed nor load it`() async throws {
    try await withPage { test, _ async throws in
      let link = [
        "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document",
      ]
      #expect(try await test.page("/", link).status == 200)
      #expect(try await test.page("/page/state", link).status == 403)
      let frame = [
        "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe",
      ]
      #expect(try await test.page("/", frame).status == 403)
      for place in Self.places {
        let load = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"]
        #expect(try await test.page(place, load).status == 403, "\(place)")
        let read = ["Origin: https://evil.example"]
        #expect(try await test.page(place, read).status == 403, "\(place)")
      }
    }
  }

  @Test func `A change has a bounded body, which the page knows`() async throws {
    try await withPage { test, page async throws in
      for text in ["", "{}", "[]", #"{"action":"explode"}"#, "\u{0}", #"{"action":"pause"}"#] {
        #expect(try await test.change(text).status == 400, "\(text)")
      }
      let long = #"{"action":"add","url":""# + String(repeating: "a", count: 70_000) + "\"}"
      #expect(try await test.change(long).status == 413)
      for url in ["", "ftp://example.org/a", "/etc/passwd", "javascript:alert(1)", "http://"] {
        let reply = try await test.change(#"{"action":"add","url":"\#(url)"}"#)
        #expect(reply.status == 400 && reply.refusal?.isEmpty == false, "\(url): \(reply.status)")
      }
      #expect(page.downloads.items.isEmpty)
    }
  }

  @Test func `A proxy without the setting, and one of an origin, has no page`() async throws {
    try await withServer { test async throws in
      for place in ["/", "/page/state"] {
        #expect(try await test.page(place).status == 400)
      }
    }
    try await withReverseServer(server: { $0.servesPage = true }) { test async throws in
      test.origin.script("/page/state", .on(.all, .status(404)))
      let reply = try await test.reply(to: "/page/state")
      #expect(reply.status == 404)
      #expect(reply["Content-Security-Policy"] == nil)
    }
  }

  @Test func `The page's own requests are not logged, refused ones are without the token`()
    async throws
  {
    try await withPage { test, _ async throws in
      _ = try await test.page("/")
      _ = try await test.page("/page/state")
      #expect(try await test.page("/page/state", ["Origin: https://evil.example"]).status == 403)
      try await eventually("the refusal is logged") { !test.log.all.isEmpty }
      #expect(test.log.all.count == 1)
      #expect(test.log.all.allSatisfy { $0.status == 403 && !$0.url.contains(test.token) })
    }
  }

  @Test func `A host that is not allowed is not fetched, not even by a stream`() async throws {
    try await withOrigin { other in
      other.serve(Caching.resource(9, [:]), at: "/secret")
      try await withPage(proxy: { configuration, origin in
        configuration.allowedHosts = ["127.0.0.1:\(origin.port)"]
      }) { test, page async throws in
        let direct = other.url("/secret").absoluteString
        let refused = try await test.change(#"{"action":"add","url":"\#(direct)"}"#)
        #expect([400, 403].contains(refused.status))
        test.serve(
          "#EXTM3U\n#EXTINF:4,\n\(direct)\n#EXT-X-ENDLIST\n", at: "/main.m3u8")
        let main = test.origin.url("/main.m3u8").absoluteString
        #expect(try await test.change(#"{"action":"add","url":"\#(main)"}"#).status == 200)
        try await eventually("the download ends") {
          page.downloads.items.values.allSatisfy { $0.state == .failed }
        }
        #expect(page.downloads.items.count == 1)
        #expect(other.connectionsAccepted == 0)
      }
    }
  }
}
