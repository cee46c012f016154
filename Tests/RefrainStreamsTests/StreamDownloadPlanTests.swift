// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The parts of a stream, from its media playlists. Pure.
struct StreamDownloadPlanTests {
  private static func plan(_ lists: String...) throws -> StreamPlan {
    let url = try #require(URL(string: "https://a.example/s/list.m3u8?t=1"))
    var plan = StreamPlan()
    for list in lists {
      let text = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(list)\n#EXT-X-ENDLIST\n"
      plan.append(try #require(HLSMediaPlaylist(Array(text.utf8), url: url)), at: url)
    }
    return plan
  }

  private static func texts(_ plan: StreamPlan) -> [String] {
    plan.parts.map { part in
      let range = part.range.map { " \($0.lowerBound)..<\($0.upperBound)" } ?? ""
      return part.url.absoluteString.replacing("https://a.example", with: "") + range
    }
  }

  @Test func `Keys and initializations precede their segments, once each`() throws {
    let plan = try Self.plan(
      """
      #EXT-X-KEY:METHOD=AES-128,URI="k1"
      #EXT-X-MAP:URI="../init.mp4"
      #EXTINF:4,
      0.m4s
      #EXTINF:3,
      /1.m4s?x=%2F
      #EXT-X-KEY:METHOD=AES-128,URI="k2"
      #EXTINF:2,
      //b.example/2.m4s
      #EXT-X-KEY:METHOD=NONE
      #EXTINF:1,
      0.m4s
      """)
    #expect(
      Self.texts(plan)
        == ["/s/k1", "/init.mp4", "/s/0.m4s", "/1.m4s?x=%2F", "/s/k2", "https://b.example/2.m4s"])
    #expect(plan.parts.map(\.seconds) == [0, 0, 4, 3, 0, 2])
    #expect(plan.seconds == 9 && plan.duration == 10)
  }

  @Test func `Adjacent ranges of one resource are one part`() throws {
    let plan = try Self.plan(
      """
      #EXT-X-MAP:URI="a.mp4",BYTERANGE="100@0"
      #EXT-X-BYTERANGE:50@100
      #EXTINF:4,
      a.mp4
      #EXT-X-BYTERANGE:50
      #EXTINF:4,
      a.mp4
      #EXT-X-BYTERANGE:10@300
      #EXTINF:2,
      a.mp4
      """)
    #expect(Self.texts(plan) == ["/s/a.mp4 0..<200", "/s/a.mp4 300..<310"])
    #expect(plan.parts.map(\.seconds) == [8, 2])
  }

  @Test func `Keys of content protection, gaps and other schemes are no parts`() throws {
    let plan = try Self.plan(
      """
      #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://k",KEYFORMAT="com.apple.streamingkeydelivery"
      #EXT-X-KEY:METHOD=SAMPLE-AES,URI="data:,0123456789abcdef"
      #EXTINF:4,
      0.ts
      #EXT-X-GAP
      #EXTINF:4,
      1.ts
      #EXTINF:4,
      file:///etc/passwd
      """)
    #expect(Self.texts(plan) == ["/s/0.ts"])
    #expect(plan.skipped == ["file:///etc/passwd"])
  }

  @Test func `Playlists share their common parts`() throws {
    let plan = try Self.plan("#EXTINF:4,\n0.ts\n#EXTINF:4,\n1.ts", "#EXTINF:4,\n0.ts")
    #expect(Self.texts(plan) == ["/s/0.ts", "/s/1.ts"])
    #expect(plan.seconds == 8 && plan.duration == 8)
  }
}
