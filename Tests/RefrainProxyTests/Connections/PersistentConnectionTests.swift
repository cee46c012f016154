// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

@Suite(.timeLimit(.minutes(2))) struct PersistentConnectionTests {
  private static let length: Int64 = 300_000

  private func serve(_ test: TestProxy, _ path: String = "/a.mp3") -> [UInt8] {
    test.origin.serve(.synthetic(seed: 1, length: Self.length), at: path)
    return SyntheticBytes(seed: 1).bytes(in: 0..<Self.length)
  }

  @Test func `One connection carries many requests, cold and warm`() async throws {
    try await withProxy { test in
      let bytes = serve(test)
      let target = try test.target("/a.mp3")
      try await test.connect { connection in
        for lower in stride(from: 0, to: 250_000, by: 50_000) {
          for _ in 0..<2 {
            let reply = try await connection.reply(
              to: target, ["Range: bytes=\(lower)-\(lower + 9999)"], host: test.host)
            #expect(reply.status == 206)
            #expect(reply.body == Array(bytes[lower..<lower + 10_000]))
            #expect(reply["Connection"] == nil)
          }
        }
      }
    }
  }

  @Test func `Pipelined requests are answered in order`() async throws {
    try await withProxy { test in
      let bytes = serve(test)
      try await test.connect { connection in
        var text = ""
        for lower in stride(from: 0, to: 280_000, by: 7000) {
          text += try test.request(for: "/a.mp3", ["Range: bytes=\(lower)-\(lower + 4)"])
        }
        text += try test.request(for: "/a.mp3", method: "HEAD")
        text += "GET /nothing HTTP/1.1\r\nHost: \(test.host)\r\n\r\n"
        text += try test.request(for: "/a.mp3", ["Connection: close"])
        try await connection.send(text)
        for index in 0..<40 {
          let reply = try await connection.readReply()
          #expect(reply.body == Array(bytes[index * 7000..<index * 7000 + 5]))
        }
        #expect(try await connection.readReply(hasBody: false).status == 200)
        #expect(try await connection.readReply().status == 404)
        let last = try await connection.readReply()
        #expect(last.body == bytes)
        #expect(last["Connection"] == "close")
        #expect(try await connection.readToEnd().isEmpty)
      }
    }
  }

  @Test func `An HTTP 1-0 client receives no chunks, and one response`() async throws {
    try await withProxy { test in
      let bytes = serve(test)
      var open = OriginResource(.synthetic(seed: 1, length: Self.length), etag: "\"1\"")
      open.declaresLength = false
      open.supportsRanges = false
      test.origin.serve(open, at: "/open")
      for path in ["/a.mp3", "/open"] {
        let target = try test.target(path)
        try await test.connect { connection in
          try await connection.send("GET \(target) HTTP/1.0\r\n\r\n")
          let reply = try await connection.readReply()
          #expect(reply.status == 200)
          #expect(reply["Transfer-Encoding"] == nil)
          #expect(reply.body == bytes)
          #expect(try await connection.readToEnd().isEmpty)
        }
      }
    }
  }

  @Test func `The version and Connection decide whether the connection is kept`() async throws {
    try await withProxy { test in
      let bytes = serve(test)
      let target = try test.target("/a.mp3")
      for (version, field, isKept) in [
        ("1.1", "", true), ("1.1", "Connection: close\r\n", false), ("1.0", "", false),
        ("1.0", "Connection: Keep-Alive\r\n", false),
        ("1.1", "Connection: , x, CLOSE\r\n", false),
        ("1.1", "Connection: closed\r\n", true), ("1.5", "", true),
      ] {
        try await test.connect { connection in
          try await connection.send(
            "GET \(target) HTTP/\(version)\r\nHost: \(test.host)\r\n\(field)\r\n")
          #expect(try await connection.readReply().body == bytes)
          if isKept {
            let next = try await connection.reply(to: target, host: test.host)
            #expect(next.status == 200, "\(version) \(field)")
          } else {
            #expect(try await connection.readToEnd().isEmpty && !connection.wasReset)
          }
        }
      }
    }
  }

  @Test func `The connection of an idle client is closed`() async throws {
    try await withProxy(proxy: { configuration, _ in
      configuration.idleTimeout = .milliseconds(60)
    }) { test in
      try await test.connect { connection in
        let rest = try await connection.readToEnd()
        #expect(rest.isEmpty)
        #expect(!connection.wasReset)
      }
    }
  }

  @Test func `A client that reads nothing is disconnected`() async throws {
    try await withProxy(proxy: { configuration, _ in
      configuration.sendTimeout = .milliseconds(300)
    }) { test in
      test.origin.serve(.synthetic(seed: 1, length: 64 << 20), at: "/large")
      let target = try test.target("/large")
      try await test.connect(receiveBuffer: 64 << 10) { connection in
        try await connection.request(target, host: test.host)
        try await eventually("the connection is over in the log") { !test.log.all.isEmpty }
      }
    }
  }

  @Test func `A connection over the limit is answered 503 until others close`() async throws {
    try await withProxy(proxy: { configuration, _ in
      configuration.maximumConnections = 2
    }) { test in
      let bytes = serve(test)
      try await test.connect { first in
        #expect(try await first.reply(to: test.target("/a.mp3"), host: test.host).body == bytes)
        try await test.connect { second in
          #expect(try await second.reply(to: test.target("/a.mp3"), host: test.host).body == bytes)
          try await test.connect { third in
            let reply = try await third.readReply()
            #expect(reply.status == 503)
            #expect(reply["Retry-After"] == "1")
            #expect(reply["Connection"] == "close")
          }
        }
      }
      try await eventually("there is room again") {
        try await test.get("/a.mp3").status == 200
      }
    }
  }
}
