// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer
@testable import RefrainPlayerStreams
@testable import RefrainStreams

/// The stored times of one playlist.
struct StreamTimelineTests {
  private func timeline(_ lines: String...) throws -> StreamTimeline {
    let url = try #require(URL(string: "https://h/v/list.m3u8"))
    let text = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n" + lines.joined(separator: "\n")
    let playlist = try #require(
      HLSMediaPlaylist(Array((text + "\n#EXT-X-ENDLIST\n").utf8), url: url))
    return StreamTimeline(playlist, at: url) { CacheKey(url: $0) }
  }

  private let whole = CacheProgress(length: 100, spans: RangeSet(0..<100))

  @Test func `The stored times are the sums of the durations of stored segments`() throws {
    var timeline = try timeline(
      "#EXTINF:4,", "a.ts", "#EXTINF:2.5,", "b.ts", "#EXTINF:6,", "https://other/c.ts",
      "#EXTINF:1,", "d.ts")
    #expect(timeline.keys.first == CacheKey(rawValue: "https://h/v/a.ts"))
    #expect(timeline.urls[2].absoluteString == "https://other/c.ts" && timeline.urls.count == 4)
    #expect(timeline.duration == .seconds(13.5) && timeline.cachedTimes.isEmpty)
    #expect(timeline.takeChanged() == [0, 1, 2, 3] && timeline.takeChanged() == [])
    for index in [0, 1, 3] { timeline.note(whole, of: index) }
    #expect(timeline.cachedTimes.ranges.inSeconds == [[0, 6.5], [12.5, 13.5]])
    #expect(!timeline.isComplete)
    // A part of a segment does not play.
    timeline.note(CacheProgress(length: 100, spans: RangeSet(0..<99)), of: 1)
    #expect(timeline.cachedTimes.ranges.inSeconds == [[0, 4], [12.5, 13.5]])
    for index in [1, 2] { timeline.note(whole, of: index) }
    #expect(timeline.isComplete && timeline.cachedTimes.ranges.inSeconds == [[0, 13.5]])
  }

  @Test func `A segment also needs its initialization and its key`() throws {
    var timeline = try timeline(
      "#EXT-X-MAP:URI=\"init.mp4\"", "#EXT-X-KEY:METHOD=AES-128,URI=\"key\"", "#EXTINF:4,", "a.m4s",
      "#EXT-X-KEY:METHOD=NONE", "#EXTINF:4,", "b.m4s",
      "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"skd://x\",KEYFORMAT=\"com.apple.streamingkeydelivery\"",
      "#EXTINF:4,", "c.m4s")
    let keys = timeline.urls.map(\.lastPathComponent)
    #expect(Set(keys) == ["init.mp4", "key", "a.m4s", "b.m4s", "c.m4s"])
    for name in ["a.m4s", "b.m4s", "c.m4s"] {
      timeline.note(whole, of: try #require(keys.firstIndex(of: name)))
    }
    #expect(timeline.cachedTimes.isEmpty)
    timeline.note(whole, of: try #require(keys.firstIndex(of: "init.mp4")))
    #expect(timeline.cachedTimes.ranges.inSeconds == [[4, 12]])
    timeline.note(whole, of: try #require(keys.firstIndex(of: "key")))
    #expect(timeline.isComplete)
  }

  @Test func `Segments in one file are stored by their ranges`() throws {
    var timeline = try timeline(
      "#EXTINF:4,", "#EXT-X-BYTERANGE:100@0", "a.mp4",
      "#EXTINF:4,", "#EXT-X-BYTERANGE:100", "a.mp4",
      "#EXTINF:4,", "#EXT-X-BYTERANGE:100", "a.mp4")
    #expect(timeline.urls.count == 1)
    timeline.note(CacheProgress(length: 300, spans: RangeSet(50..<210)), of: 0)
    #expect(timeline.cachedTimes.ranges.inSeconds == [[4, 8]])
    timeline.note(fetching: RangeSet(210..<250), of: 0)
    #expect(timeline.fetchingTimes.ranges.inSeconds == [[8, 12]])
    timeline.note(fetching: RangeSet(), of: 0)
    #expect(timeline.fetchingTimes.isEmpty)
  }

  @Test func `A segment that the origin does not have is not missed`() throws {
    var timeline = try timeline("#EXTINF:4,", "a.ts", "#EXT-X-GAP", "#EXTINF:4,", "b.ts")
    timeline.note(whole, of: 0)
    #expect(timeline.urls.count == 1 && timeline.isComplete)
  }

  @Test func `Failures count until the segment is stored or has passed`() throws {
    var timeline = try timeline("#EXTINF:4,", "a.ts", "#EXTINF:4,", "b.ts", "#EXTINF:4,", "c.ts")
    let gone = MediaCacheError(.status, "It is gone.", status: 410)
    let far = MediaCacheError(.unreachable, "It is far away.")
    timeline.note(gone, of: 1)
    timeline.note(far, of: 2)
    #expect(timeline.failures(after: .zero) == [gone, far])
    #expect(timeline.failures(after: .seconds(8)) == [far])
    timeline.note(whole, of: 1)
    #expect(timeline.failures(after: .zero) == [far])
  }
}
