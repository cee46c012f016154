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
  private struct Seen {
    var duration: Double?
    /// The time of each seek, and the picture after it.
    var pictures: [(time: Double, picture: String)] = []
    var ended: Double?
    var error: String?

    init(_ played: Page.Played) throws {
      duration = played.duration
      ended = played.ended
      // A playlist was played to its end before the page's script tried to decode it.
      error = played.ended == nil ? played.error : nil
      for text in played.seen ?? [] {
        let words = text.split { "+ ".contains($0) }
        pictures.append((try #require(words.first.flatMap { Double($0) }), "\(words.dropFirst())"))
      }
    }
  }

  /// Chromium places the frames of a playlist up to a frame earlier or later, as its parts arrive:
  /// the pictures beside the expected one are right, too.
  private static let frame = 0.04
  private static let seeksOnce = Page.seeks.flatMap { [$0 - frame, $0, $0 + frame] }

  /// One of each sort; in a soak, all that can be played again without the origin. The page's script
  /// loads a signed playlist once more, and none of the segments with its signature.
  private static let kinds: [StreamFixture.Kind] =
    TestSeed.isSoak
    ? StreamFixture.Kind.allCases.filter { $0.isPlaylist && $0 != .signed }
    : [.rootedFragments, .networkPathKeys, .byteRanges]

  /// How often a play is begun anew, with an empty cache, that Chromium gave up by itself. While the
  /// first segments arrive, a jump back makes it lose its place in one now and then, also when it
  /// plays directly: 2 of 120 plays from an origin that answered after 60 ms, on a busy machine.
  private static let mostTries = 4

  private struct LostItsPlace: Error {}

  @Test(arguments: kinds)
  func `Chromium plays and seeks in a playlist as directly, and again without its origin`(
    _ kind: StreamFixture.Kind
  ) async throws {
    let stream = try await StreamFixture.made(kind)
    for triesLeft in (0..<Self.mostTries).reversed() {
      do {
        return try await Self.check(stream)
      } catch let error as LostItsPlace {
        guard triesLeft > 0 else { throw error }
      }
    }
  }

  private static func check(_ stream: StreamFixture) async throws {
    try await withOrigin { pages in
      stream.serve(on: pages)
      let direct = try await play(stream, pages.url(stream.entry), from: pages, seeking: seeksOnce)
      try #require(direct.pictures.count == seeksOnce.count, "\(direct)")
      #expect(Set(direct.pictures.map(\.picture)).count > Page.seeks.count, "\(direct)")
      #expect(abs((direct.ended ?? 0) - 9) < 0.2, "\(direct)")
      try await Proxied.with(pagesFrom: pages) { proxied in
        stream.serve(on: proxied.origin)
        let url = try proxied.proxied(stream.entry)
        // Without its origin it plays from the cache in each run, with its origin only in long ones.
        let states = TestSeed.isSoak ? ["cold", "warm"] : ["cold"]
        for state in states { compare(try await play(stream, url, from: pages), direct, state) }
        // In each play, the page's script opens the playlist after its element has. It fetches it
        // with `no-store`, which Chromium sends as `no-cache`.
        try await stream.expectFetchedOnce(from: proxied.origin, openings: 2 * states.count)
        await proxied.origin.stopListening()
        compare(try await play(stream, url, from: pages), direct, "without the origin")
      }
    }
  }

  private static func compare(_ seen: Seen, _ direct: Seen, _ state: String) {
    #expect(seen.error == nil, "\(state)")
    #expect(seen.duration == direct.duration, "\(state)")
    #expect(abs((seen.ended ?? 0) - (direct.ended ?? 0)) < frame, "\(state)")
    #expect(seen.pictures.map(\.time) == Page.seeks, "\(state)")
    for (index, picture) in seen.pictures.map(\.picture).enumerated() {
      let right = direct.pictures[3 * index..<3 * index + 3].map(\.picture)
      #expect(right.contains(picture), "\(state), \(Page.seeks[index]) s: \(direct)")
    }
  }

  private static func play(
    _ stream: StreamFixture, _ url: URL, from pages: OriginServer,
    seeking seeks: [Double] = Page.seeks
  ) async throws -> Seen {
    let medium = Page.Medium(name: stream.kind.rawValue, url: url, hasVideo: true)
    let played = try await Chromium.play([medium], from: pages, seeking: seeks)
    let seen = try Seen(try #require(played.first))
    if seen.error?.contains("DEMUXER_ERROR_COULD_NOT_PARSE") == true { throw LostItsPlace() }
    return seen
  }
}
