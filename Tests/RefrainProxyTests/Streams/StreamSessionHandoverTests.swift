// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// The sessions of streams while one proxy takes over from another over the same cache directory.
@Suite(.timeLimit(.minutes(1))) struct StreamSessionHandoverTests {
  private let directory = FileManager.default.temporaryDirectory.appending(
    path: "refrain-session-test-\(UUID().uuidString)", directoryHint: .isDirectory)

  private func run(_ origin: OriginServer, _ body: (TestProxy) async throws -> Void) async throws {
    try await withProxy(
      directory: directory, origin: origin,
      proxy: { configuration, _ in configuration.token = "a-token-for-the-tests" }, body)
  }

  @Test func `A stream that begins in the old proxy plays on in the new one`() async throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    origin.serve(
      OriginResource(
        .bytes(Array("#EXTM3U\n#EXTINF:2,\ns0.ts\n".utf8)), contentType: "audio/mpegurl",
        headers: [Field("Set-Cookie", "sig=1; Path=/")]), at: "/list.m3u8")
    var segment = OriginResource.synthetic(seed: 1, length: 1000)
    segment.requiredHeader = Field("Cookie", "sig=1")
    origin.serve(segment, at: "/s0.ts")
    try await run(origin) { old in
      try await run(origin) { new in
        old.proxy.beginDraining()
        let (reply, target) = try await old.follow(try old.target("/list.m3u8"))
        let part = try old.reference(reply, to: "s0.ts", at: target)
        try await eventually("the new proxy knows the session") {
          try await new.follow(part).0.body.count == 1000
        }
      }
    }
    await origin.stop()
  }
}
