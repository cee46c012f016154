// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// How old the playlists of live streams are, which may be useful for less than a second.
struct PlaylistAgeTests {
  private static let now = Date(timeIntervalSince1970: 1_800_000_000.9)

  private func freshness(
    _ headers: HeaderFields = [:], took: Double = 0, wasHeldBack: Bool = false,
    pace: UpdatePace? = nil
  ) -> Freshness {
    var freshness = Freshness(
      status: 200, headers: headers, requestTime: Self.now - took, responseTime: Self.now,
      keeper: .init(wasHeldBack: wasHeldBack))
    freshness.pace = pace
    return freshness
  }

  @Test func `The fraction of a second that Date leaves out is no age`() {
    let date = HTTPDate.format(Date(timeIntervalSince1970: 1_800_000_000))
    #expect(freshness(["Date": date]).age(at: Self.now) == 0)
    let earlier = HTTPDate.format(Date(timeIntervalSince1970: 1_799_999_997))
    #expect(freshness(["Date": earlier]).age(at: Self.now) == 3)
  }

  @Test func `The time for which a response was held back is no age`() {
    #expect(freshness(took: 4).age(at: Self.now) == 4)
    #expect(freshness(took: 4, wasHeldBack: true).age(at: Self.now) == 0)
    let next = Freshness(
      status: 200, headers: ["X-A": "b"], confirmation: ["X-A": "b"], requestTime: Self.now - 4,
      responseTime: Self.now, keeper: .init(wasHeldBack: true))
    #expect(next.age(at: Self.now) == 0)
  }

  @Test func `A manifest is used while its bytes arrive, and no longer`() {
    for headers: HeaderFields in [[:], ["Cache-Control": "max-age=60"]] {
      let arriving = freshness(headers, pace: .unread)
      #expect(arriving.isFresh(at: Self.now + 0.4) && !arriving.isFresh(at: Self.now + 0.6))
    }
    #expect(!freshness(["Cache-Control": "no-cache"], pace: .unread).isFresh(at: Self.now))
  }

  @Test func `Only a URL that names a segment asks for a blocking reload`() throws {
    for (text, isOne) in [
      ("http://a/l.m3u8?_HLS_msn=4", true), ("http://a/l.m3u8?x=1&_HLS_msn=4&_HLS_part=0", true),
      ("http://a/l.m3u8?x_HLS_msn=4", false), ("http://a/l.m3u8?_HLS_skip=YES", false),
      ("http://a/_HLS_msn=4", false),
    ] {
      let url = try #require(URL(string: text))
      #expect(Manifest.isBlockingReload(url) == isOne, "\(text)")
    }
  }

  @Test func `Parts do not shorten the use of a response to a blocking reload`() {
    let list = Data(
      """
      #EXTM3U
      #EXT-X-TARGETDURATION:4
      #EXT-X-PART-INF:PART-TARGET=0.5
      #EXTINF:4,
      s1.ts

      """.utf8)
    #expect(Manifest.pace(of: list) == .every(0.5))
    #expect(Manifest.pace(of: list, isBlockingReload: true) == .every(4))
  }
}
