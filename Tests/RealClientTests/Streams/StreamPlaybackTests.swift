// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// HLS and DASH streams in ffmpeg, mpv and VLC.
@Suite(
  .enabled(if: RequiredProgram.ffmpeg.isUsable), .timeLimit(.minutes(TestSeed.minutes(5))))
struct StreamPlaybackTests {
  @Test(arguments: StreamPlay.chosen)
  func `A stream plays and seeks through the proxy as directly, and again without its origin`(
    _ play: StreamPlay
  ) async throws {
    let stream = try await StreamFixture.made(play.kind)
    try await Proxied.with { proxied in
      stream.serve(on: proxied.origin)
      let url = try proxied.proxied(stream.entry)
      let starts = play.starts
      for (number, start) in starts.enumerated() {
        let direct = try await play.direct(from: start)
        let decoded = try await play.player.decodeStream(url, from: start)
        #expect(decoded == direct, "play \(number + 1) of \(starts)")
      }
      try await stream.expectFetchedOnce(from: proxied.origin, openings: starts.count)
      await proxied.origin.stopListening()
      let direct = try await play.direct()
      let offline = try await play.player.decodeStream(url)
      #expect(offline == direct, "without the origin")
    }
  }

  @Test(arguments: [StreamFixture.Kind.variants, .absoluteVariants, .rootedVariants])
  func `A list of I-frames plays through the proxy`(_ kind: StreamFixture.Kind) async throws {
    let stream = try await StreamFixture.made(kind)
    let path = stream.folder + "frames/index.m3u8"
    try await Proxied.with { proxied in
      stream.serve(on: proxied.origin)
      let direct = try await Decoder.ffmpeg.decode(proxied.direct(path), fewest: 9)
      proxied.origin.resetLog(path)
      proxied.origin.resetLog(stream.folder + "frames/all.ts")
      for state in ["cold", "warm"] {
        let frames = try await Decoder.ffmpeg.decode(
          try proxied.proxied(path), fewest: 9)
        #expect(frames == direct, "\(state)")
      }
      for name in ["frames/index.m3u8", "frames/all.ts"] {
        let log = try await proxied.origin.wait(for: stream.folder + name) { $0.running == 0 }
        #expect(!log.requests.isEmpty, "\(name)")
        #expect(log.requests.allSatisfy { $0.request.headers.first("Via") != nil }, "\(name)")
        #expect(log.bytesSentTwice == 0, "\(name)")
      }
    }
  }
}
