// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// HLS and DASH in web pages: hls.js and Video.js in Chromium, on a page of another web origin.
@Suite(
  .enabled(if: RequiredProgram.chromium.isUsable && RequiredProgram.ffmpeg.isUsable),
  .timeLimit(.minutes(TestSeed.minutes(5))))
struct WebPlayerTests {
  /// A player, and a stream of a kind that it plays.
  struct Play: Sendable, CustomTestStringConvertible {
    let player: WebPlayer
    let kind: StreamFixture.Kind

    var testDescription: String { "\(player.rawValue), \(kind.rawValue)" }

    static let chosen: [Play] = all.filter(\.player.script.isUsable)

    private static var all: [Play] {
      let hlsJS: [StreamFixture.Kind] =
        TestSeed.isSoak
        ? StreamFixture.Kind.allCases.filter(\.isPlaylist)
        : [.absoluteVariants, .rootedFragments, .absoluteKeys, .cookies]
      let videoJS: [StreamFixture.Kind] =
        TestSeed.isSoak
        ? [.rootedFragments, .networkPathKeys, .dashTimeline, .dashAbsoluteBase]
          + [.dashAbsoluteTemplate]
        : [.networkPathKeys, .dashAbsoluteTemplate]
      return hlsJS.map { Play(player: .hlsJS, kind: $0) }
        + videoJS.map { Play(player: .videoJS, kind: $0) }
    }
  }

  @Test(arguments: Play.chosen)
  func `A web page plays a stream through the proxy as directly, and again without its origin`(
    _ play: Play
  ) async throws {
    let stream = try await StreamFixture.made(play.kind)
    let undemanding = try await StreamFixture.made(play.kind.undemanding)
    try await withOrigin { pages in
      undemanding.serve(on: pages)
      try await Proxied.with(pagesFrom: pages) { test in
        stream.serve(on: test.origin)
        let proxy = try test.proxied(stream.entry)
        // Without its origin it plays from the cache in each run, with its origin only in long ones.
        let proxied = Array(repeating: proxy, count: TestSeed.isSoak ? 2 : 1)
        let played = try await play.player.play(
          [pages.url(undemanding.entry)] + proxied, onPageOf: pages)
        let direct = try #require(played.first)
        // Two empty reports would be equal.
        try #require(direct.seen?.count == WebPlayerPage.seeks.count, "\(direct)")
        // The recipe of numbered segments states one second less.
        let end = play.kind.recipe == .dashNumbers ? 8.0 : 9.0
        #expect(direct.hasSound == true && abs((direct.ended ?? 0) - end) < 0.2, "\(direct)")
        #expect(played == [direct] + proxied.map { _ in direct }, "cold, and again")
        try await stream.expectFetchedOnce(from: test.origin, openings: proxied.count)
        await test.origin.stopListening()
        let offline = try await play.player.play([proxy], onPageOf: pages)
        #expect(offline == [direct], "without the origin")
      }
    }
  }
}
