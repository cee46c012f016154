// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// For any bytes in the origin's fields, the client receives one response with our framing.
@Suite(.timeLimit(.minutes(2))) struct ResponseSplittingTests {
  static let lines: [String] = [
    "X: a\rX-Evil: 1", "X: a\nX-Evil: 1", "X: a\u{0}b", "X: a\r\n\tX-Evil: 1", "X: \u{1}\u{7F}",
    "X: \u{FF}\u{80}", "X : a", "X-\u{E9}: a", "X: a\u{0B}b", "Transfer-Encoding: identity",
    "Content-Length: 5", "Content-Length: 9", "Content-Length: -1", "Connection: content-type",
    "Connection: close, content-length", "Content-Type: a/b\r c",
    "Transfer-Encoding : chunked", "Content-Length : 5", "Content-Length: 5, 5", "no colon",
    "Set-Cookie: a=b\rX-Evil: 1", "ETag: \"a\rX-Evil: 1\"", "Location: /\rX-Evil: 1",
  ]

  @Test(arguments: [false, true])
  func `Malformed origin fields neither split nor corrupt a response`(
    isRelayed: Bool
  ) async throws {
    let answers = Self.lines.map {
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCache-Control: max-age=600\r\n\($0)\r\n\r\nhello"
    }
    try await withEcho({ $0.number.map { answers[$0] } }) { test, _ async throws in
      for (index, line) in Self.lines.enumerated() {
        let what: Comment = "\(line.debugDescription)"
        for _ in 0..<2 {
          let reply = try await test.connect { connection async throws -> Reply in
            let reply = try await connection.reply(
              to: "/\(index)", isRelayed ? ["Cache-Control: no-store"] : [], host: test.host)
            if reply["Connection"] != "close", reply.isComplete {
              // The next bytes are the next response.
              let next = try await connection.reply(
                to: "/\(index)", ["Connection: close"], host: test.host)
              #expect(next.status == 200 || next.status >= 400, what)
              #expect(try await connection.readToEnd().isEmpty, what)
            }
            return reply
          }
          #expect(reply.status == 502 || reply.body == Array("hello".utf8), what)
          // A line may end with LF alone, for the origin's other clients as well.
          #expect(reply["X-Evil"] == (line == "X: a\nX-Evil: 1" ? "1" : nil), what)
          for field in reply.fields {
            #expect(
              field.value.utf8.allSatisfy { $0 == 9 || ($0 >= 0x20 && $0 != 0x7F) },
              "\(field) for \(line.debugDescription)")
          }
        }
      }
    }
  }

  /// Complete heads after the status line, and bodies.
  static let lenient = [
    "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "Content-Length: 5, 5\r\n\r\nhello",
    "Content-Length : 5\r\nX : 1\r\n\r\nhello", "X: 1\nContent-Length: 5\r\n\nhello",
    "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
    "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "X: \u{1}\r\nX-\u{1}: 1\r\nContent-Length: 5\r\n\r\nhello",
  ]
  static let unsafe = [
    "Content-Length: 5\r\nContent-Length: 9\r\n\r\nhello", "Content-Length: +5\r\n\r\nhello",
    "Content-Length: 5, 9\r\n\r\nhello", "Content-Length: 0 5\r\n\r\nhello",
    "Content-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\nhello",
    "Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n\r\nhello",
    "Transfer-Encoding: chunked, identity\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "Content-Length: 5\r\nTransfer-Encoding\u{B}: chunked\r\n\r\nhello",
  ]

  @Test(arguments: [false, true])
  func `A client receives a clean head, and none of an ambiguous response`(
    isRelayed: Bool
  ) async throws {
    let answers = Self.lenient + Self.unsafe
    try await withEcho({ request in
      request.number.map { "HTTP/1.1 200 OK\r\nCache-Control: no-cache\r\n" + answers[$0] }
    }) { test, _ async throws in
      for (index, answer) in answers.enumerated() {
        let what: Comment = "\(answer.debugDescription)"
        let reply = try await test.reply(
          to: "/\(index)", isRelayed ? ["Cache-Control: no-store"] : [])
        guard Self.lenient.contains(answer) else {
          #expect(reply.status == 502, what)
          continue
        }
        #expect(reply.status == 200 && reply.isComplete, what)
        #expect(reply.body == Array("hello".utf8), what)
        let names = reply.fields.map { $0.name.lowercased() }
        #expect(names.count { ["content-length", "transfer-encoding"].contains($0) } == 1, what)
        #expect(names.allSatisfy { !$0.contains(" ") && !$0.contains("\u{1}") }, what)
      }
    }
  }

  @Test func `A tampered entry record adds no fields to a response`() async throws {
    try await withSuccession { origin, directory in
      origin.serve(
        Caching.resource(1, ["Cache-Control": "max-age=600", "X-Note": "old"]), at: "/a")
      try await withProxy(directory: directory, origin: origin) { test async throws in
        #expect(try await test.get("/a")["X-Note"] == "old")
      }
      let files = FileManager.default.enumerator(atPath: directory.path)?.allObjects as? [String]
      let record = try #require(files?.first { $0.hasSuffix("entry.json") })
      let place = directory.appending(path: record)
      let text = try String(contentsOf: place, encoding: .utf8)
      let changed = text.replacing(#""X-Note","old""#, with: #""X-Note","old\r\nX-Evil: 1""#)
      #expect(changed != text)
      try changed.write(to: place, atomically: true, encoding: .utf8)
      try await withProxy(directory: directory, origin: origin) { test async throws in
        for headers in [[], [], ["Range: bytes=0-1"]] {
          let reply = try await test.get("/a", headers)
          #expect(reply.status == (headers.isEmpty ? 200 : 206))
          #expect(reply["X-Evil"] == nil && reply["X-Note"] == nil)
        }
      }
    }
  }

  @Test func `A 101 response to a relayed request becomes 502`() async throws {
    try await withEcho({ _ in
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: evil\r\nConnection: Upgrade\r\n\r\n"
        + "HTTP/1.1 200 OK\r\nX-Evil: 1\r\nContent-Length: 0\r\n\r\n"
    }) { test, _ async throws in
      let reply = try await test.reply(to: "/a", ["Content-Length: 0"], method: "POST")
      #expect(reply.status == 502)
      #expect(reply.informational.isEmpty)
    }
  }
}

extension EchoServer.Request {
  /// The number that is its path.
  fileprivate var number: Int? {
    head.split(separator: " ").dropFirst().first.flatMap { Int($0.dropFirst()) }
  }
}
