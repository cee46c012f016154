// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// A 203 is a 200 whose content a proxy on the way has changed (RFC 9110 §15.3.4).
@Suite(.timeLimit(.minutes(1))) struct NonAuthoritativeTests {
  private func serve(_ test: TestProxy, _ headers: [String: String]) {
    var resource = Caching.resource(1, headers)
    resource.supportsRanges = false
    test.origin.serve(resource, at: "/a")
    test.origin.script("/a", .on(.all, .statusLine(203)))
  }

  @Test func `It is stored, and clients receive it and its ranges as those of a 200`() async throws
  {
    for isShared in [false, true] {
      try await Caching.withEither(isShared: isShared) { test async throws in
        serve(test, ["Cache-Control": "max-age=600"])
        for round in 0..<2 {
          let whole = try await test.get("/a")
          #expect(whole.status == 200 && whole.body == Caching.bytes(1) && whole.isComplete)
          if round == 0 { #expect(whole["Cache-Status"]?.contains("fwd-status=203") == true) }
          let part = try await test.get("/a", ["Range: bytes=10-19"])
          #expect(part.status == 206 && part.body == Array(Caching.bytes(1)[10..<20]))
          let head = try await test.get("/a", method: "HEAD")
          #expect(head.status == 200 && head["Content-Length"] == "\(Caching.length)")
        }
        #expect(try await test.asked("/a") == 1)
      }
    }
  }

  @Test func `It is fresh by the same guess as a 200`() async throws {
    try await withProxy { test async throws in
      serve(test, ["Last-Modified": HTTPDate.format(Date() - 86400 * 20)])
      for _ in 0..<2 { #expect(try await test.get("/a").body == Caching.bytes(1)) }
      #expect(try await test.asked("/a") == 1)
    }
  }

  @Test func `A stale one is confirmed or replaced`() async throws {
    try await withProxy { test async throws in
      serve(test, Caching.stale())
      for _ in 0..<2 { #expect(try await test.get("/a").body == Caching.bytes(1)) }
      #expect(try await test.settledLog("/a").requests.map(\.status) == [203, 304])
      var next = Caching.resource(2, Caching.stale())
      next.supportsRanges = false
      test.origin.serve(next, at: "/a")
      test.origin.script("/a", .on(.all, .statusLine(203)))
      #expect(try await test.get("/a").body == Caching.bytes(2))
    }
  }

  @Test func `One that may not be stored is relayed as it is`() async throws {
    try await withReverseProxy { test async throws in
      serve(test, ["Cache-Control": "no-store"])
      for _ in 0..<2 {
        let reply = try await test.get("/a")
        #expect(reply.status == 203 && reply.body == Caching.bytes(1))
      }
    }
  }

  @Test(arguments: ["max-age=600", "no-store"])
  func `A playlist is rewritten`(control: String) async throws {
    func list(_ base: String) -> String {
      "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n\(base)/far/s0.ts\n#EXT-X-ENDLIST\n"
    }
    for (isShared, name) in [(false, "m3u8"), (true, "m3u8"), (false, "txt"), (true, "txt")] {
      try await Caching.withEither(isShared: isShared) { test in
        let path = "/list.\(name)"
        test.serve(
          list(test.origin.baseURL.absoluteString), at: path,
          headers: [Field("Cache-Control", control)])
        test.origin.script(path, .on(.all, .ignoreRange, .statusLine(203)))
        let place = isShared ? "" : "/\(test.token)/http/\(test.originHost)"
        for request in [[], ["Range: bytes=0-"]] {
          let reply = try await test.get(path, request)
          #expect(reply.status < 300 && reply.text == list(place))
        }
      }
    }
  }
}
