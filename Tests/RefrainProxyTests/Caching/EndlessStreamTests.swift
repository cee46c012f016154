// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Resources of which each response has other bytes: live sound without Icecast's fields, server-sent
/// events, the pictures of a camera, an archive made for each request.
@Suite(.timeLimit(.minutes(2))) struct EndlessStreamTests {
  private static let length: Int64 = 300_000

  private func stream(
    _ seed: UInt64, _ type: String, _ control: String, declaresLength: Bool = false
  ) -> OriginResource {
    OriginResource(
      .synthetic(seed: seed, length: Self.length), contentType: type, supportsRanges: false,
      declaresLength: declaresLength, headers: [Field("Cache-Control", control)])
  }

  private func bytes(_ seed: UInt64) -> [UInt8] {
    SyntheticBytes(seed: seed).bytes(in: 0..<Self.length)
  }

  static let kinds: [(type: String, control: String, declaresLength: Bool)] = [
    ("audio/mpeg", "no-cache", false), ("audio/mpeg", "max-age=0", false),
    ("text/event-stream", "no-cache", false),
    ("multipart/x-mixed-replace; boundary=a", "no-cache, must-revalidate", false),
    ("application/zip", "no-cache", true),
  ]

  @Test(arguments: [false, true], kinds.indices)
  func `A further client does not end the response of the first one`(
    isShared: Bool, index: Int
  ) async throws {
    let kind = Self.kinds[index]
    try await Caching.withEither(isShared: isShared) { test async throws in
      func stream(_ seed: UInt64) -> OriginResource {
        self.stream(seed, kind.type, kind.control, declaresLength: kind.declaresLength)
      }
      test.origin.serve(stream(1), at: "/live")
      test.origin.script(
        "/live",
        .on(.number(1), .stall(at: .body(100_000)))
          .on(.from(2), .answerFrom(stream(2))))
      let target = try test.target("/live")
      let first = try await test.connect { connection async throws -> [UInt8] in
        try await connection.request(target, ["Connection: close"], host: test.host)
        // The head, and the beginning of the body.
        let beginning = try await connection.read(upTo: 20_000)
        try await test.origin.wait(for: "/live") { $0.stalled == 1 }
        for method in ["HEAD", "GET"] {
          let further = try await test.get("/live", method: method)
          #expect(further.status == 200 && further.isComplete)
          if method == "GET" { #expect(further.body == bytes(2)) }
        }
        test.origin.release("/live")
        return beginning + (try await connection.readToEnd())
      }
      let reply = try #require(try AnswerReader.read(first).first)
      #expect(reply.status == 200 && reply.isComplete)
      #expect(reply.body == bytes(1))
    }
  }

  @Test func `A media file of known length is shared even without a validator`() async throws {
    try await withReverseProxy { test async throws in
      test.origin.serve(stream(1, "audio/mpeg", "no-cache", declaresLength: true), at: "/file")
      test.origin.script("/file", .on(.number(1), .stall(at: .body(100_000))))
      let target = try test.target("/file")
      try await test.connect { connection async throws in
        try await connection.request(target, host: test.host)
        _ = try await connection.read(upTo: 20_000)
        try await test.origin.wait(for: "/file") { $0.stalled == 1 }
        let piece = try await test.get("/file", ["Range: bytes=50-99"])
        #expect(piece.status == 206 && piece.body == Array(bytes(1)[50..<100]))
        test.origin.release("/file")
      }
    }
  }

  @Test func `Clients share a response of unknown length that is fresh`() async throws {
    try await withReverseProxy { test async throws in
      test.origin.serve(stream(1, "audio/mpeg", "max-age=600"), at: "/long")
      test.origin.script("/long", .on(.number(1), .stall(at: .body(100_000))))
      let target = try test.target("/long")
      try await test.connect { connection async throws in
        try await connection.request(target, host: test.host)
        _ = try await connection.read(upTo: 20_000)
        try await test.origin.wait(for: "/long") { $0.stalled == 1 }
        async let further = test.get("/long")
        test.origin.release("/long")
        #expect(try await further.body == bytes(1))
      }
      #expect(try await test.asked("/long") == 1)
    }
  }
}
