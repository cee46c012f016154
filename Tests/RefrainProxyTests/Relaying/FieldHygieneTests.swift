// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// One address serves many origins: each origin's state is isolated from the others.
@Suite(.timeLimit(.minutes(2))) struct FieldHygieneTests {
  @Test func `Fields that apply to the origin's host are removed from responses`() async throws {
    try await withProxy { test async throws in
      let names = [
        "Set-Cookie", "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data",
        "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "NEL",
      ]
      var fields = Dictionary(uniqueKeysWithValues: names.map { ($0, "x") })
      fields["X-Stays"] = "1"
      test.serve("/a", fields)
      for headers in [[], [], ["Cache-Control: no-store"], ["Range: bytes=0-5"]] {
        let reply = try await test.get("/a", headers)
        for name in names { #expect(reply[name] == nil, "\(name)") }
        #expect(reply["X-Stays"] == "1")
      }
      test.origin.script("/e", .on(.all, .status(404, headers: [Field("Set-Cookie", "a=b")])))
      #expect(try await test.get("/e")["Set-Cookie"] == nil)
    }
  }

  @Test func `Browser fields about the page are not sent to the origin`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "no-cache"])
      let browser = [
        "Cookie: a=b", "Sec-Fetch-Mode: no-cors", "Origin: http://page.example",
        "Sec-Fetch-Site: cross-site", "Upgrade-Insecure-Requests: 1",
      ]
      for more in [[], ["Cache-Control: no-store"]] {
        let own = "http://\(test.host)\(try test.target("/list.m3u8?a=b"))"
        for referrer in [own, "http://page.example/x", "http://\(test.host)/wrong/http/h/"] {
          _ = try await test.get("/a", browser + more + ["Referer: \(referrer)"])
          let seen = try #require(try await test.settledLog("/a").requests.last).request.headers
          for name in [
            "Cookie", "Sec-Fetch-Mode", "Origin", "Referer", "Upgrade-Insecure-Requests",
          ] {
            #expect(seen.first(name) == nil, "\(name)")
          }
          #expect(!seen.contains { $0.value.contains(String(test.port)) })
        }
      }
      // A player's cookies are sent to the origin.
      _ = try await test.get("/a", ["Cookie: mine=1"])
      let last = try await test.settledLog("/a").requests.last
      #expect(last?.request.headers.first("Cookie") == "mine=1")
    }
  }
}
