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

  @Test(arguments: words) func `Media is stored`(_ word: String) async throws {
    try await Caching.withBoth { test async throws in
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
    try await Caching.withBoth { test in
      let fields = [Field("Cache-Control", control), Field("Content-Encoding", word)]
      let list = Caching.playlist(test.origin.baseURL.absoluteString)
      test.serve(list, at: Self.path, headers: fields)
      for request in [[], ["Range: bytes=0-"]] {
        let reply = try await test.get(Self.path, request)
        #expect(reply.status < 300 && reply.text == Caching.playlist(test.originPlace))
        #expect(reply["Content-Encoding"] == nil)
      }
    }
  }

  @Test(arguments: ["aws-chunked, gzip", "gzip,none"])
  func `A compressed playlist is decoded whatever else is named`(_ field: String) async throws {
    try await withProxy { test in
      test.serve(Caching.playlist(test.origin.baseURL.absoluteString), at: Self.path)
      test.origin.script(Self.path, .on(.all, .gzip, .header("Content-Encoding", field)))
      let reply = try await test.get(Self.path)
      #expect(reply.text == Caching.playlist(test.originPlace))
      #expect(reply["Content-Encoding"] == nil)
    }
  }
}

/// A 203 is a 200 whose content a proxy on the way has changed (RFC 9110 §15.3.4).
@Suite(.timeLimit(.minutes(1))) struct NonAuthoritativeTests {
  private func serve(_ test: TestProxy, _ headers: [String: String]) {
    var resource = Caching.resource(1, headers)
    resource.supportsRanges = false
    test.origin.serve(resource, at: "/a")
    test.origin.script("/a", .on(.all, .statusLine(203)))
  }

  @Test func `It is stored, and keeps its status`() async throws {
    try await Caching.withBoth { test async throws in
      serve(test, ["Cache-Control": "max-age=600"])
      for _ in 0..<2 {
        let whole = try await test.get("/a")
        #expect(whole.status == 203 && whole.body == Caching.bytes(1) && whole.isComplete)
        let part = try await test.get("/a", ["Range: bytes=10-19"])
        #expect(part.status == 206 && part.body == Array(Caching.bytes(1)[10..<20]))
        let head = try await test.get("/a", method: "HEAD")
        #expect(head.status == 203 && head["Content-Length"] == "\(Caching.length)")
      }
      #expect(try await test.asked("/a") == 1)
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
      for _ in 0..<2 {
        let reply = try await test.get("/a")
        #expect(reply.status == 203 && reply.body == Caching.bytes(1))
      }
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
    try await Caching.withBoth { test in
      for path in ["/list.m3u8", "/list.txt"] {
        test.serve(
          Caching.playlist(test.origin.baseURL.absoluteString), at: path,
          headers: [Field("Cache-Control", control)])
        test.origin.script(path, .on(.all, .ignoreRange, .statusLine(203)))
        for request in [[], ["Range: bytes=0-"]] {
          let reply = try await test.get(path, request)
          #expect(reply.status < 300 && reply.text == Caching.playlist(test.originPlace))
        }
      }
    }
  }
}

/// Origins that have a usable response only to requests without a range: clients never receive an
/// error that the cache's own range caused.
@Suite(.timeLimit(.minutes(1))) struct RefusedRangeTests {
  static let refusals: [[Fault]] = [
    [.status(400)], [.status(403)], [.status(405)], [.status(416)], [.status(501)],
    [.header("Content-Range", nil)], [.header("Content-Range", "bytes=0-1999/2000")],
    [.wrongContentLength(by: 1)],
  ]

  @Test(arguments: refusals.indices)
  func `Clients receive the whole, parts and heads`(_ index: Int) async throws {
    try await Caching.withBoth { test async throws in
      for path in ["/whole", "/part", "/head"] {
        test.serve(path, ["Cache-Control": "max-age=600"])
        test.origin.script(path, .on(.where { $0.range != nil }, Self.refusals[index]))
      }
      let whole = try await test.get("/whole")
      #expect(whole.status == 200 && whole.body == Caching.bytes(1) && whole.isComplete)
      let part = try await test.get("/part", ["Range: bytes=1500-"])
      #expect(part.status == 206 && part.body == Array(Caching.bytes(1)[1500...]))
      let head = try await test.get("/head", method: "HEAD")
      #expect(head.status == 200 && head["Content-Length"] == "\(Caching.length)")
      for path in ["/whole", "/part", "/head"] { #expect(try await test.asked(path) == 2) }
    }
  }

  @Test(arguments: refusals.indices)
  func `A stale response is confirmed by one request without a range`(
    _ index: Int
  ) async throws {
    try await withProxy { test async throws in
      test.serve("/a", Caching.stale())
      test.origin.script("/a", .on(.where { $0.range != nil }, Self.refusals[index]))
      for _ in 0..<3 { #expect(try await test.get("/a").body == Caching.bytes(1)) }
      test.serve("/a", 2, Caching.stale())
      #expect(try await test.get("/a").body == Caching.bytes(2))
      let requests = try await test.settledLog("/a").requests.dropFirst()
      #expect(requests.map(\.status) == [200, 304, 304, 200])
      #expect(requests.allSatisfy { $0.request.range == nil })
    }
  }

  @Test func `A resource longer than any disk is counted without overflow`() async throws {
    try await withProxy { test in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      test.origin.script(
        "/a", .on(.all, .header("Content-Range", "bytes 0-1999/9000000000000000000")))
      // All of it is sent for several ranges.
      for (range, status) in [("0-", 206), ("0-4999999999999999999,5000000000001000000-", 200)] {
        let reply = try await test.get("/a", ["Range: bytes=\(range)"])
        #expect(reply.status == status && !reply.isComplete, "\(range)")
      }
      #expect(try await test.get("/a", ["Range: bytes=0-99"]).status == 206)
    }
  }

  /// A part of the range at a time (RFC 9110 §15.3.7).
  @Test func `A range is complete though the origin sends less, and nothing is stored`()
    async throws
  {
    let length: Int64 = 400_000
    let bytes = SyntheticBytes(seed: 1)
    try await withProxy(cache: { $0.limit = 16 << 10 }) { test in
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      test.origin.script("/a", .on(.all, .atMost(50_000)))
      for range in [1000..<300_000, 0..<length] as [Range<Int64>] {
        let reply = try await test.get(
          "/a", ["Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
        #expect(reply.status == 206 && reply.isComplete)
        #expect(
          reply["Content-Range"]
            == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)")
        #expect(reply.body == bytes.bytes(in: range))
      }
      #expect(try await test.cache.entries().allSatisfy { $0.cachedBytes < length })
    }
  }
}
