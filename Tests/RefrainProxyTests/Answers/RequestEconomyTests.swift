// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// A request costs the origin exactly one, whatever the response: the client receives the status,
/// the fields and the body of that exchange. Two exceptions are documented: an error that may pass
/// (`RetryPolicy.isTransient`) is asked for `RetryPolicy.firstAttempts` times, and a 400, 403, 405
/// or 501, which the cache's own range may have caused, once more without that range.
@Suite(.timeLimit(.minutes(2))) struct RequestEconomyTests {
  /// A method with the fields of the request.
  struct Asked: Sendable, CustomTestStringConvertible {
    var method = "GET"
    var fields: [String] = []
    var testDescription: String { "\(method) \(fields)" }
  }

  static let requests = [
    Asked(), Asked(method: "HEAD"), Asked(fields: ["Range: bytes=2-5"]),
    Asked(fields: ["Range: bytes=-3"]),
  ]

  static let fields: [[Field]] = [
    [], [Field("Cache-Control", "max-age=60"), Field("ETag", "\"1\"")],
    [Field("Cache-Control", "no-store"), Field("ETag", "\"1\"")],
    [Field("Cache-Control", "private, max-age=60")],
    [Field("Cache-Control", "max-age=60"), Field("Set-Cookie", "me=1")],
    [Field("Cache-Control", "max-age=60"), Field("Vary", "*")],
    [Field("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")],
  ]

  /// Those that bring no resource, or no body of one. Left out: 203 is stored as a 200, 206 and 416
  /// respond to the cache's own range.
  static let others = (201...599).filter { ![203, 206, 416].contains($0) }

  /// Those of `others` that are in use, and some that are not, for every request and set of fields.
  static let usual =
    [201, 202, 204, 205, 207, 208, 226, 299] + Array(300...308)
    + [400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 417, 418]
    + [421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 499]
    + [500, 501, 502, 503, 504, 505, 506, 507, 510, 511, 599]

  /// The documented number of requests.
  ///
  /// - Parameter attempts: `RetryPolicy.firstAttempts`.
  private static func cost(_ status: Int, attempts: Int = RetryPolicy().firstAttempts) -> Int {
    // The range of the cache may have caused it.
    if [400, 403, 405, 501].contains(status) { return 2 }
    return RetryPolicy.isTransient(status: status) ? attempts : 1
  }

  /// Sends a request to the origin itself, and then to the proxy.
  private func check(
    _ test: TestProxy, _ path: String, _ asked: Asked, costs cost: Int,
    _ what: Comment
  ) async throws {
    let direct = try await RawConnection.open(port: test.origin.port) {
      try await $0.reply(to: path, asked.fields, method: asked.method)
    }
    test.origin.resetLog(path)
    let reply = try await test.get(path, asked.fields, method: asked.method)
    let count = try await test.asked(path)
    #expect(count == cost, what)
    #expect(reply.status == direct.status && reply.isComplete, what)
    #expect(reply.body == direct.body, what)
    let own: Set<String> = ["date", "server", "connection", "location", "transfer-encoding"]
    for field in direct.fields where !own.contains(field.name.lowercased()) {
      #expect(reply[field.name] == field.value, "\(what): \(field.name)")
    }
    // A proxy of several sites puts what is no media into a sandbox.
    let hasOrigin = test.proxy.configuration.origin != nil
    let added = [hasOrigin ? "Via" : "Content-Security-Policy"]
    let names = Set(direct.fields.map(\.name) + added + ["Cache-Status"])
    for field in reply.fields where !own.contains(field.name.lowercased()) {
      #expect(names.contains(field.name), "\(what): \(field.name) was not sent")
    }
  }

  @Test func `A private document behind a redirect reaches no other client`() async throws {
    try await withReverseProxy { test async throws in
      func reply(_ number: Int) -> Fault {
        .status(
          200,
          headers: [
            Field("Cache-Control", "private"), Field("Set-Cookie", "me=\(number)"),
            Field("Content-Type", "application/vnd.apple.mpegurl"),
          ],
          body: Array("#EXTM3U\n#EXTINF:9,\ns\(number).ts\n#EXT-X-ENDLIST\n".utf8))
      }
      test.origin.script("/a", .on(.all, .status(302, headers: [Field("Location", "/b.m3u8")])))
      test.origin.script("/b.m3u8", .on(.all, reply(1)))
      _ = try await test.get("/a")
      test.origin.script("/b.m3u8", .on(.all, reply(2)))
      #expect(try await test.get("/b.m3u8")["Set-Cookie"] == "me=2")
    }
  }

  @Test func `A 304 that nobody asked for confirms no client's copy`() async throws {
    try await withReverseProxy { test async throws in
      test.origin.script("/a", .on(.all, .status(304)))
      #expect(try await test.get("/a", ["If-None-Match: \"1\""]).status == 502)
    }
  }

  @Test(arguments: [false, true])
  func `Every status of no resource costs one request, apart from the documented exceptions`(
    isShared: Bool
  ) async throws {
    func checkAll(_ test: TestProxy, attempts: Int) async throws {
      for status in Self.others {
        let fault = Fault.status(status, headers: Self.fields[1], body: Array("some body".utf8))
        test.origin.script("/\(status)", .on(.all, fault))
        let cost = Self.cost(status, attempts: attempts)
        try await check(test, "/\(status)", Asked(), costs: cost, "\(status)")
      }
    }
    if isShared {
      // As `refrain serve --origin` sets it: an error that may pass costs one, too.
      try await withReverseProxy(cache: { $0.retry.firstAttempts = 1 }) {
        try await checkAll($0, attempts: 1)
      }
    } else {
      try await withProxy { try await checkAll($0, attempts: 2) }
    }
  }

  /// A shared cache with the default number of attempts.
  @Test(arguments: usual)
  func `Neither the request nor the fields change the cost of a response that is no resource`(
    _ status: Int
  ) async throws {
    try await withReverseProxy { test async throws in
      for (index, fields) in Self.fields.enumerated() {
        for (number, asked) in Self.requests.enumerated() {
          let path = "/\(status)/\(index)/\(number)"
          test.origin.script(
            path, .on(.all, .status(status, headers: fields, body: Array("some body".utf8))))
          try await check(
            test, path, asked, costs: Self.cost(status), "\(status) \(fields) \(asked)")
        }
      }
    }
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `A redirect costs one request`(_ status: Int) async throws {
    try await withReverseProxy { test async throws in
      let places = [
        "http://elsewhere.example/x", "ftp://elsewhere.example/x", "http://[bad", "//", "",
        "/\(String(repeating: "long", count: 5000))",
      ]
      for (index, fields) in Self.fields.enumerated() {
        for (number, asked) in Self.requests.enumerated() {
          for (place, location) in places.enumerated() {
            let path = "/\(status)/\(index)/\(number)/\(place)"
            let fault = Fault.status(
              status, headers: fields + [Field("Location", location)],
              body: Array("over there".utf8))
            test.origin.script(path, .on(.all, fault))
            try await check(
              test, path, asked, costs: 1, "\(status) \(fields) \(asked) \(location.prefix(30))")
          }
        }
      }
    }
  }

  /// A redirect within the origin is followed, unless a shared cache may not keep what it leads to.
  @Test(arguments: [301, 302, 303, 307, 308])
  func `A redirect within the origin costs one request`(_ status: Int) async throws {
    try await withReverseProxy { test async throws in
      for (index, fields) in Self.fields.enumerated() {
        for (number, asked) in Self.requests.enumerated() {
          let (path, end) = ("/\(status)/\(index)/\(number)", "/end/\(status)/\(index)/\(number)")
          test.serve(end, ["Cache-Control": "max-age=600"])
          let fault = Fault.status(status, headers: fields + [Field("Location", end)])
          test.origin.script(path, .on(.all, fault))
          let reply = try await test.get(path, asked.fields, method: asked.method)
          let what: Comment = "\(status) \(fields) \(asked): \(reply.status)"
          let isPersonal = [2, 3, 4].contains(index)
          if isPersonal {
            #expect(reply.status == status && reply["Location"] == end, what)
          } else {
            #expect([200, 206].contains(reply.status), what)
          }
          #expect(try await test.asked(path) == 1, what)
          #expect(try await test.asked(end) == (isPersonal ? 0 : 1), what)
        }
      }
    }
  }

  @Test(arguments: [200, 203, 206], [true, false])
  func `A resource costs one request`(_ status: Int, supportsRanges: Bool) async throws {
    try await withReverseProxy { test async throws in
      let bytes = Caching.bytes(1)
      for (index, fields) in Self.fields.enumerated() {
        // A range of unknown total does not show the end.
        for declaresLength in supportsRanges ? [true] : [true, false] {
          for (number, asked) in Self.requests.enumerated() {
            let path = "/\(index)/\(number)/\(declaresLength)"
            test.origin.serve(
              OriginResource(
                .synthetic(seed: 1, length: Caching.length), supportsRanges: supportsRanges,
                declaresLength: declaresLength, headers: fields), at: path)
            if status == 203 {
              test.origin.script(
                path, .on(.where { !supportsRanges || $0.range == nil }, .statusLine(203)))
            }
            let reply = try await test.get(path, asked.fields, method: asked.method)
            let what: Comment =
              "\(status) \(fields) \(asked) \(declaresLength ? "length" : "no length")"
            #expect(reply.isComplete, what)
            switch reply.status {
            case 206 where number == 2: #expect(reply.body == Array(bytes[2...5]), what)
            case 206: #expect(number == 3 && reply.body == Array(bytes.suffix(3)), what)
            case 200: #expect(reply.body == (number == 1 ? [] : bytes), what)
            case 203 where status == 203:
              #expect(reply.body == (number == 1 ? [] : bytes), what)
            default: Issue.record("\(reply.status): \(what)")
            }
            // One that has ended before its client looked, without a length, may be requested again.
            let mayHaveEnded = !declaresLength && [2, 3, 4].contains(index)
            let count = try await test.asked(path)
            #expect(count == 1 || (mayHaveEnded && count == 2), what)
          }
        }
      }
    }
  }

  @Test(arguments: fields.indices)
  func `An empty resource costs one request`(_ index: Int) async throws {
    try await withReverseProxy { test async throws in
      for (number, asked) in Self.requests.enumerated() {
        test.origin.serve(
          OriginResource(.synthetic(seed: 1, length: 0), headers: Self.fields[index]),
          at: "/\(number)")
        let reply = try await test.get("/\(number)", asked.fields, method: asked.method)
        let what: Comment = "\(Self.fields[index]) \(asked)"
        #expect(reply.status == (number > 1 ? 416 : 200), what)
        // The origin refuses the cache's own range, and forbids to keep what that shows.
        let isPersonal = [2, 3, 4].contains(index)
        #expect(try await test.asked("/\(number)") == (isPersonal ? 2 : 1), what)
      }
    }
  }

  @Test(arguments: [200, 404, 500])
  func `A compressed response costs one request`(_ status: Int) async throws {
    try await withReverseProxy { test async throws in
      for (index, fields) in Self.fields.enumerated() {
        for (number, asked) in Self.requests.enumerated() {
          let path = "/\(index)/\(number)"
          test.origin.script(
            path, .on(.all, .status(status, headers: fields, body: Array("text".utf8)), .gzip))
          try await check(
            test, path, asked, costs: Self.cost(status), "\(status) \(fields) \(asked)")
        }
      }
    }
  }

  @Test(arguments: [201, 302, 404, 418, 500])
  func `A long body costs one request`(_ status: Int) async throws {
    try await withReverseProxy { test async throws in
      let body = SyntheticBytes(seed: 1).bytes(in: 0..<3 << 20)
      let location = [Field("Location", "http://elsewhere.example/x")]
      for (index, faults) in [[], [Fault.chunked], [Fault.toTheClose]].enumerated() {
        for (number, asked) in Self.requests.enumerated() {
          let path = "/\(index)/\(number)"
          test.origin.script(
            path, .on(.all, [.status(status, headers: location, body: body)] + faults))
          try await check(
            test, path, asked, costs: Self.cost(status), "\(status) \(index) \(asked)")
        }
      }
    }
  }
}
