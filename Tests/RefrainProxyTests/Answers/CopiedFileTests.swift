// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Where sendfile(2) must not be called, stored bytes are sent from a buffer.
@Suite(.timeLimit(.minutes(2))) struct CopiedFileTests {
  private static let length: Int64 = 3_000_001

  @Test func `Bytes sent from a buffer match the origin's, whole and in ranges`() async throws {
    try await withProxy(proxy: { configuration, _ in configuration.sendsFiles = false }) { test in
      let bytes = SyntheticBytes(seed: 7).bytes(in: 0..<Self.length)
      var resource = OriginResource.synthetic(seed: 7, length: Self.length)
      resource.headers = [Field("Cache-Control", "max-age=3600")]
      test.origin.serve(resource, at: "/a.mp3")
      for _ in 0..<3 {
        let reply = try await test.get("/a.mp3")
        #expect(reply.status == 200 && reply.isComplete)
        #expect(reply.body == bytes)
        let piece = Int(ProxyConnection.longestCopy)
        for range in [0..<1, 7..<piece + 7, piece - 1..<2 * piece + 1, 2_999_999..<3_000_001] {
          let part = try await test.get(
            "/a.mp3", ["Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
          #expect(part.status == 206)
          #expect(part.body == Array(bytes[range]))
        }
        let parts = try await test.get("/a.mp3", ["Range: bytes=0-9,1000000-1400000"])
        #expect(parts.isComplete)
        #expect(String(decoding: parts.body, as: UTF8.self).contains("bytes 1000000-1400000/"))
      }
      #expect(try await test.settledLog("/a.mp3").bytesSentTwice == 0)
    }
  }

  @Test
  func `A client with a small buffer receives every byte and keeps its connection`() async throws {
    try await withProxy(proxy: { configuration, _ in configuration.sendsFiles = false }) { test in
      let length: Int64 = 8 << 20
      test.origin.serve(.synthetic(seed: 3, length: length), at: "/b.mp3")
      _ = try await test.get("/b.mp3")
      let target = try test.target("/b.mp3")
      let host = test.host
      try await test.connect(receiveBuffer: 16_384) { connection in
        for _ in 0..<2 {
          let reply = try await connection.reply(to: target, [], method: "GET", host: host)
          #expect(reply.isComplete)
          #expect(reply.body == SyntheticBytes(seed: 3).bytes(in: 0..<length))
        }
      }
    }
  }
}
