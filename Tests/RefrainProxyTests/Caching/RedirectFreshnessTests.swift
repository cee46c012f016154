// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// What stands behind a redirect is served under the redirected URL only while the redirect itself
/// may be used, and to those alone to whom it may be given.
@Suite(.timeLimit(.minutes(2))) struct RedirectFreshnessTests {
  private static let open = ["Cache-Control": "public, max-age=31536000"]

  private static func redirect(to target: String, _ fields: [String: String]) -> Fault {
    let headers = [Field("Location", target)] + fields.map { Field($0.key, $0.value) }
    return .status(302, headers: headers)
  }

  private func redirect(
    _ test: TestProxy, _ path: String, to target: String, _ fields: [String: String]
  ) {
    test.origin.script(path, .on(.all, Self.redirect(to: target, fields)))
  }

  @Test(arguments: [false, true], ["no-cache", "max-age=0"])
  func `A redirect that leads elsewhere by now is followed`(
    isShared: Bool, control: String
  ) async throws {
    try await Caching.withEither(isShared: isShared) { test async throws in
      for episode in 1...3 {
        test.serve("/\(episode)", UInt64(episode), Self.open)
        redirect(test, "/latest", to: "/\(episode)", ["Cache-Control": control])
        #expect(try await test.get("/latest").body == Caching.bytes(UInt64(episode)))
      }
    }
  }

  @Test func `A redirect that may be stored is followed once`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/1", Self.open)
      redirect(test, "/latest", to: "/1", ["Cache-Control": "max-age=600"])
      for _ in 0..<3 { #expect(try await test.get("/latest").body == Caching.bytes(1)) }
      #expect(try await test.asked("/latest") == 1)
      #expect(try await test.asked("/1") == 1)
    }
  }

  @Test func `A private cache keeps what stands behind a redirect that it may not store`()
    async throws
  {
    try await withProxy { test async throws in
      test.serve("/1", Self.open)
      redirect(test, "/a", to: "/1", ["Cache-Control": "no-store"])
      for _ in 0..<3 { #expect(try await test.get("/a").body == Caching.bytes(1)) }
      #expect(try await test.settledLog("/1").bytesSentTwice == 0)
    }
  }

  @Test(arguments: [
    ["Cache-Control": "private, no-store"], ["Set-Cookie": "seen=1"], ["Cache-Control": "private"],
    [:],
  ])
  func `What a redirect gives to a logged-in client is served to no other`(
    _ fields: [String: String]
  ) async throws {
    try await withReverseProxy { test async throws in
      test.serve("/signed", 2, Self.open)
      test.origin.script(
        "/film",
        .on(
          .where { $0.headers.first("Cookie") == "me=1" },
          Self.redirect(to: "/signed?sig=1", fields)
        ).on(.where { $0.headers.first("Cookie") != "me=1" }, .status(403)))
      #expect(try await test.get("/film").status == 403)
      for _ in 0..<2 {
        let mine = try await test.get("/film", ["Cookie: me=1"])
        #expect(mine.status == 302 && mine["Location"]?.hasSuffix("/signed?sig=1") == true)
        #expect(mine["Set-Cookie"] == fields["Set-Cookie"])
        #expect(try await test.get("/film").status == 403)
        #expect(try await test.get("/film", ["Cookie: me=2"]).status == 403)
      }
    }
  }

  @Test func `A redirect for everybody does not hide that of a logged-in client`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/sign-in", 1, Self.open)
      redirect(test, "/me", to: "/sign-in", [:])
      #expect(try await test.get("/me").body == Caching.bytes(1))
      redirect(test, "/me", to: "/home", [:])
      let mine = try await test.get("/me", ["Cookie: me=1"])
      #expect(mine.status == 302 && mine["Location"]?.hasSuffix("/home") == true)
    }
  }

  @Test(arguments: [false, true])
  func `A redirect that varies leads each client to its own resource`(isShared: Bool) async throws {
    try await Caching.withEither(isShared: isShared) { test async throws in
      test.serve("/de", 1, Self.open)
      test.serve("/en", 2, Self.open)
      let fields = ["Vary": "Accept-Language", "Cache-Control": "max-age=600"]
      test.origin.script(
        "/play",
        .on(
          .where { $0.headers.first("Accept-Language") == "de" }, Self.redirect(to: "/de", fields)
        ).on(
          .where { $0.headers.first("Accept-Language") != "de" },
          Self.redirect(to: "/en", fields)))
      for _ in 0..<3 {
        for (language, seed) in [("de", 1), ("en", 2)] as [(String, UInt64)] {
          let reply = try await test.get("/play", ["Accept-Language: \(language)"])
          #expect(reply.body == Caching.bytes(seed))
          #expect(reply["Vary"]?.lowercased().contains("accept-language") == true)
        }
      }
      #expect(try await test.asked("/play") == 2)
    }
  }

  @Test(arguments: ["no-cache", "max-age=6000"])
  func `A client asks again for a response that the redirect to it permits for a shorter time`(
    _ control: String
  ) async throws {
    try await withReverseProxy { test async throws in
      test.serve("/open", Self.open)
      test.serve("/expiring", ["Expires": "Thu, 01 Jan 2099 00:00:00 GMT"])
      for target in ["/open", "/expiring"] {
        redirect(test, "/latest\(target)", to: target, ["Cache-Control": control])
        for _ in 0..<3 {
          let reply = try await test.get("/latest\(target)")
          #expect(reply["Expires"] == nil)
          #expect(reply.fields.contains { $0.name == "Cache-Control" && $0.value == "no-cache" })
        }
      }
      #expect(try await test.get("/open")["Cache-Control"] == Self.open["Cache-Control"])
      test.serve("/end", ["Cache-Control": "max-age=3000, immutable"])
      redirect(test, "/short", to: "/end", ["Cache-Control": "max-age=6000"])
      for _ in 0..<2 {
        #expect(try await test.get("/short")["Cache-Control"] == "max-age=3000, immutable")
      }
    }
  }
}
