// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// The media elements of a web browser, and its scripts.
@Suite(
  .enabled(if: RequiredProgram.chromium.isUsable && RequiredProgram.ffmpeg.isUsable),
  .timeLimit(.minutes(5)))
struct ChromiumTests {
  @Test func `Chromium plays and seeks through the proxy as it does directly`() async throws {
    try await Proxied.with { proxied in
      for media in Media.allCases {
        try await proxied.serve(media, at: "/" + media.name)
        try await proxied.serve(media, at: "/direct/" + media.name)
      }
      func play(_ url: (Media) throws -> URL) async throws -> [Page.Played] {
        try await Chromium.play(
          Media.allCases.map {
            Page.Medium(name: $0.name, url: try url($0), hasVideo: $0.hasVideo)
          }, from: proxied.origin)
      }
      let direct = try await play { proxied.direct("/direct/" + $0.name) }
      for played in direct {
        // The compared values must not be empty.
        try #require(played.error == nil, "\(played)")
        #expect(abs((played.ended ?? 0) - 8) < 0.2, "\(played)")
        #expect(Set(played.seen ?? []).count == Page.seeks.count, "\(played)")
        #expect((played.frames ?? 0) > 8 * 44_000, "\(played)")
      }
      for state in ["cold", "warm"] {
        let played = try await play { try proxied.proxied("/" + $0.name) }
        #expect(played == direct, "\(state)")
      }
      await proxied.stop()
      for media in Media.allCases {
        await proxied.expectNoByteReceivedTwice("/" + media.name, of: try await media.bytes())
      }
    }
  }
}
