// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Responses whose Content-Encoding names no coding: they are stored, and no client receives the
/// word.
@Suite(.timeLimit(.minutes(1))) struct NoCodingTests {
  static let words = ["none", "identity", "binary", "UTF-8", "aws-chunked", "none, identity,"]
  private static let path = "/a/list.m3u8"

  private func list(_ base: String) -> String {
    "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n\(base)/far/s0.ts\n#EXT-X-ENDLIST\n"
  }

  @Test(arguments: words) func `Media is stored`(_ word: String) async throws {
    for isShared in [false, true] {
      try await Caching.withEither(isShared: isShared) { test async throws in
        test.serve("/a", ["Cache-Control": "max-age=600", "Content-Encoding": word])
        for _ in 0..<2 {
          let whole = try await test.get("/a")
          #expect(whole.status == 200 && whole.body == Caching.bytes(1))
          let part = try await test.get("/a", ["Range: bytes=10-19"])
          #expect(part.status == 206 && part.body == Array(Caching.bytes(1)[10..<20]))
          let head = try await test.get("/a", method: "HEAD")
          #expect([whole, part, head].allSatisfy { $0["Content-Encoding"] == nil })
        }
        #expect(try await test.asked("/a") == 1)
      }
    }
  }

  @Test(arguments: words) func `A relayed response is passed on without the word`(
    _ word: String
  ) async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": "no-store", "Content-Encoding": word])
      for _ in 0..<2 {
        let reply = try await test.get("/a")
        #expect(reply.status == 200 && reply.body == Caching.bytes(1))
        #expect(reply["Content-Encoding"] == nil)
      }
      test.origin.script("/a", .on(.all, .header("Content-Encoding", "\(word), x-own")))
      #expect(try await test.get("/a")["Content-Encoding"] == "x-own")
    }
  }

  @Test(arguments: words, ["max-age=600", "no-store"])
  func `A playlist is rewritten`(_ word: String, control: String) async throws {
    for isShared in [false, true] {
      try await Caching.withEither(isShared: isShared) { test in
        let base = test.origin.baseURL.absoluteString
        let fields = [Field("Cache-Control", control), Field("Content-Encoding", word)]
        test.serve(list(base), at: Self.path, headers: fields)
        let place = isShared ? "" : "/\(test.token)/http/\(test.originHost)"
        for request in [[], ["Range: bytes=0-"]] {
          let reply = try await test.get(Self.path, request)
          #expect(reply.status < 300 && reply.text == list(place))
          #expect(reply["Content-Encoding"] == nil)
        }
      }
    }
  }

  @Test(arguments: ["aws-chunked, gzip", "gzip,none"])
  func `A compressed playlist is decoded whatever else is named`(_ field: String) async throws {
    try await withProxy { test in
      test.serve(list(test.origin.baseURL.absoluteString), at: Self.path, headers: [])
      test.origin.script(Self.path, .on(.all, .gzip, .header("Content-Encoding", field)))
      let reply = try await test.get(Self.path)
      #expect(reply.text == list("/\(test.token)/http/\(test.originHost)"))
      #expect(reply["Content-Encoding"] == nil)
    }
  }
}
