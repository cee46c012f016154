// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Streams whose length is unknown and whose responses differ, as live sound without Icecast's
/// fields, server-sent events and the pictures of a camera.
@Suite(.timeLimit(.minutes(2))) struct EndlessStreamTests {
  private static let length: Int64 = 300_000

  private func stream(_ seed: UInt64, _ type: String, _ control: String) -> OriginResource {
    OriginResource(
      .synthetic(seed: seed, length: Self.length), contentType: type, supportsRanges: false,
      declaresLength: false, headers: [Field("Cache-Control", control)])
  }

  private func bytes(_ seed: UInt64) -> [UInt8] {
    SyntheticBytes(seed: seed).bytes(in: 0..<Self.length)
  }

  static let kinds: [(type: String, control: String)] = [
    ("audio/mpeg", "no-cache"), ("audio/mpeg", "max-age=0"), ("text/event-stream", "no-cache"),
    ("multipart/x-mixed-replace; boundary=a", "no-cache, must-revalidate"),
  ]

  @Test(arguments: [false, true], kinds.indices)
  func `A further client does not end the response of the first one`(
    isShared: Bool, index: Int
  ) async throws {
    let kind = Self.kinds[index]
    try await Caching.withEither(isShared: isShared) { test async throws in
      test.origin.serve(stream(1, kind.type, kind.control), at: "/live")
      test.origin.script(
        "/live",
        .on(.number(1), .stall(at: .body(100_000)))
          .on(.from(2), .answerFrom(stream(2, kind.type, kind.control))))
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
