// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// A response that a shared cache must not store reaches the client that asked, by the one request
/// that the cache has sent for it.
@Suite(.timeLimit(.minutes(2))) struct HandedResponseTests {
  private static let personal: [(fields: [String: String], request: [String])] = [
    (["Cache-Control": "no-store"], []),
    (["Cache-Control": "private, max-age=60"], []),
    (["Cache-Control": "max-age=60", "Set-Cookie": "me=1"], []),
    (["Cache-Control": "max-age=60"], ["Cookie: me=1"]),
    (["Cache-Control": "max-age=60"], ["Authorization: Basic b25lOm9uZQ=="]),
  ]

  @Test(arguments: personal.indices, [true, false])
  func `A request costs the origin one`(_ index: Int, supportsRanges: Bool) async throws {
    let (fields, request) = Self.personal[index]
    try await withReverseProxy { test async throws in
      func path(_ name: String) -> String {
        var resource = Caching.resource(1, fields)
        resource.supportsRanges = supportsRanges
        test.origin.serve(resource, at: name)
        return name
      }
      let all = Caching.bytes(1)
      let whole = try await test.get(path("/whole"), request)
      #expect(whole.status == 200 && whole.body == all, "\(whole.text)")
      #expect(whole["Content-Length"] == "2000" && whole["Content-Range"] == nil)
      #expect(whole["Set-Cookie"] == fields["Set-Cookie"])
      #expect(whole["Cache-Control"] == fields["Cache-Control"])
      #expect(whole["Cache-Status"]?.hasPrefix("refrain; fwd=uri-miss") == true)
      #expect(whole["Cache-Status"]?.contains("stored") == false)
      let part = try await test.get(path("/part"), request + ["Range: bytes=500-999"])
      #expect(part.status == 206 && part.body == Array(all[500..<1000]), "\(part.text)")
      #expect(part["Content-Range"] == "bytes 500-999/2000")
      let rest = try await test.get(path("/rest"), request + ["Range: bytes=500-"])
      #expect(rest.status == 206 && rest.body == Array(all[500...]), "\(rest.text)")
      let head = try await test.get(path("/head"), request, method: "HEAD")
      #expect(head.status == 200 && head.body.isEmpty && head["Content-Length"] == "2000")
      for name in ["/whole", "/part", "/rest", "/head"] {
        #expect(try await test.asked(name) == 1, "\(name)")
        // Once the origin has forbidden it, too.
        #expect(try await test.get(name, request).body == all)
        #expect(try await test.asked(name) == 2, "\(name)")
      }
      #expect(try await test.cache.entries().isEmpty)
    }
  }

  @Test func `A response without a length costs one request, even if it has ended`() async throws {
    try await withReverseProxy { test async throws in
      for round in 0..<20 {
        var resource = Caching.resource(1, ["Cache-Control": "no-store"])
        (resource.contentType, resource.declaresLength) = ("text/plain", false)
        resource.supportsRanges = false
        test.origin.serve(resource, at: "/a\(round)")
        #expect(try await test.get("/a\(round)").body == Caching.bytes(1))
        #expect(try await test.asked("/a\(round)") == 1)
      }
    }
  }

  @Test func `Each of many clients receives a response of its own`() async throws {
    try await withReverseProxy { test async throws in
      for round in 0..<20 {
        let path = "/a\(round)"
        test.serve(path, ["Cache-Control": "no-store"])
        test.origin.script(
          path, FaultScript((1...12).map { .init(.number($0), [.header("X-Number", "\($0)")]) }))
        let numbers = try await withThrowingTaskGroup(of: String?.self) { group in
          for _ in 0..<12 {
            group.addTask {
              let reply = try await test.get(path)
              #expect(reply.body == Caching.bytes(1))
              return reply["X-Number"]
            }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(numbers).count == 12, "\(numbers)")
      }
    }
  }

  @Test(arguments: [true, false])
  func `A long response passes through as the client reads it`(supportsRanges: Bool) async throws {
    try await withReverseProxy { test async throws in
      var resource = OriginResource.synthetic(seed: 1, length: 12 << 20)
      resource.headers = [Field("Cache-Control", "private")]
      resource.supportsRanges = supportsRanges
      test.origin.serve(resource, at: "/a")
      let reply = try await test.get("/a")
      let isRight = reply.body == SyntheticBytes(seed: 1).bytes(in: 0..<12 << 20)
      #expect(isRight)
      #expect(try await test.asked("/a") == 1)
    }
  }

  @Test func `The origin's response ends with the client that it was for`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": "no-store"])
      test.origin.script("/a", .on(.all, .stall(at: .body(700))))
      try await test.onSocket { client in
        try client.send(try test.request(for: "/a"))
        _ = try client.receiveHead()
        _ = try client.receive(exactly: 700)
        client.reset()
      }
      // Waits until the origin has noticed.
      #expect(try await test.asked("/a") == 1)
    }
  }

  @Test func `Conditions are met by the response that is handed on`() async throws {
    try await withReverseProxy { test async throws in
      for name in ["/match", "/none", "/range"] {
        test.serve(name, ["Cache-Control": "no-store"])
      }
      #expect(try await test.get("/match", ["If-Match: \"other\""]).status == 412)
      let none = try await test.get("/none", ["If-None-Match: \"seed-1\""])
      #expect(none.status == 304 && none.body.isEmpty)
      let whole = try await test.get("/range", ["Range: bytes=5-9", "If-Range: \"other\""])
      #expect(whole.status == 200 && whole.body == Caching.bytes(1))
      #expect(whole["Content-Range"] == nil)
      for name in ["/match", "/none"] { #expect(try await test.asked(name) == 1, "\(name)") }
    }
  }

  @Test func `A playlist whose origin falls silent is answered 504`() async throws {
    try await withReverseProxy(cache: { $0.silenceTimeout = .milliseconds(200) }) {
      test async throws in
      test.serve(
        Caching.playlist("http://h.example"), at: "/list.m3u8",
        headers: [Field("Cache-Control", "no-store")])
      test.origin.script("/list.m3u8", .on(.all, .stall(at: .body(20))))
      let reply = try await test.get("/list.m3u8")
      #expect(reply.status == 504 && reply.isComplete)
      #expect(reply.text.split(separator: "\n").count == 1)
    }
  }

  @Test func `A playlist is rewritten as it is handed on`() async throws {
    try await withReverseProxy { test async throws in
      let far = "http://127.0.0.1:\(test.origin.port)"
      test.serve(
        Caching.playlist(far), at: "/list.m3u8", headers: [Field("Cache-Control", "no-store")])
      let reply = try await test.get("/list.m3u8")
      #expect(reply.status == 200 && !reply.text.contains(far), "\(reply.text)")
      #expect(try await test.asked("/list.m3u8") == 1)
    }
  }
}
