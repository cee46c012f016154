// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// HLS in the media element of a web browser.
@Suite(
  .enabled(if: RequiredProgram.chromium.isUsable && RequiredProgram.ffmpeg.isUsable),
  .timeLimit(.minutes(TestSeed.minutes(5))))
struct ChromiumStreamTests {
  /// The part of the page's report that depends on playing. Web Audio decodes no playlist.
  private struct Seen: Equatable {
    var duration: Double?
    var pictures: [String]?
    var ended: Double?

    init(_ played: Page.Played) {
      duration = played.duration
      pictures = played.seen
      ended = played.ended
    }
  }

  @Test(arguments: [StreamFixture.Kind.rootedFragments, .networkPathKeys, .byteRanges])
  func `Chromium plays and seeks in a playlist through the proxy as directly`(
    _ kind: StreamFixture.Kind
  ) async throws {
    let stream = try await StreamFixture.made(kind)
    try await Proxied.with { proxied in
      stream.serve(on: proxied.origin)
      let direct = try await play(stream, proxied.direct(stream.entry), from: proxied)
      try #require(direct.pictures?.count == Page.seeks.count, "\(direct)")
      #expect(abs((direct.ended ?? 0) - 9) < 0.2, "\(direct)")
      for name in stream.files.keys { proxied.origin.resetLog(stream.folder + name) }
      for state in ["cold", "warm"] {
        let seen = try await play(stream, try proxied.proxied(stream.entry), from: proxied)
        #expect(seen == direct, "\(state)")
      }
      // The page's script fetches the playlist with `no-store`, which Chromium sends as `no-cache`.
      try await stream.expectFetchedOnce(from: proxied.origin, isConfirming: true)
    }
  }

  private func play(
    _ stream: StreamFixture, _ url: URL, from proxied: Proxied
  ) async throws -> Seen {
    let medium = Page.Medium(name: stream.kind.rawValue, url: url, hasVideo: true)
    let played = try await Chromium.play([medium], from: proxied.origin)
    return Seen(try #require(played.first))
  }
}
