// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The segments that an MPD of a live stream names at a time. Pure.
struct DASHWindowTests {
  private static func window(
    _ content: String, depth: String = "timeShiftBufferDepth='PT10S'", at time: Double,
    atMost count: Int64 = 1000
  ) throws -> DASHPresentation.Window {
    let text = """
      <MPD type="dynamic" availabilityStartTime="1970-01-01T00:00:00Z" \(depth)>
      <Period start="PT20S"><AdaptationSet><Representation id="r1" bandwidth="800">\(content)
      </Representation></AdaptationSet></Period></MPD>
      """
    let presentation = try #require(try DASHPresentation(Array(text.utf8), url: mpdURL))
    return try presentation.window(at: time, atMost: count)
  }

  private static func names(_ window: DASHPresentation.Window) -> [String] {
    window.segments.map(\.url.lastPathComponent)
  }

  @Test func `A template names what the time-shift buffer holds, and two segments around it`()
    throws
  {
    let template = "<SegmentTemplate duration='2' startNumber='1' media='$Number$.m4s'/>"
    let window = try Self.window(template, at: 120)
    // At 100 seconds of the period, the buffer begins at 90.
    #expect(Self.names(window) == (44...53).map { "\($0).m4s" })
    #expect(window.isWhole && window.pace == 2 && window.longestSegment == 2)
    #expect(Self.names(try Self.window(template, at: 21)) == ["1.m4s", "2.m4s", "3.m4s"])
    #expect(try Self.window(template, at: 0).segments.isEmpty)
  }

  @Test func `A template without an end in time is not known`() throws {
    let template = "<SegmentTemplate duration='2' media='$Number$.m4s'/>"
    let window = try Self.window(template, depth: "", at: 120)
    #expect(!window.isWhole && window.segments.isEmpty)
    #expect(throws: DASHProblem.isTooLarge) {
      try Self.window(template, depth: "timeShiftBufferDepth='PT1000H'", at: 9e6)
    }
  }

  @Test func `A timeline names its segments, and repeats the last one up to now`() throws {
    let timeline = """
      <SegmentTemplate media='$Time$.m4s' initialization='i.mp4'><SegmentTimeline>
      <S t='90' d='4' r='-1'/></SegmentTimeline></SegmentTemplate>
      """
    let window = try Self.window(timeline, at: 120)
    #expect(Self.names(window) == ["90.m4s", "94.m4s", "98.m4s"])
    #expect(window.others.map(\.lastPathComponent) == ["i.mp4"] && window.pace == nil)
    #expect(window.segments.map(\.time) == [0, 4, 8])
  }

  @Test func `Alternative bases are noticed`() throws {
    for count in 1...2 {
      let bases = String(repeating: "<BaseURL>a/</BaseURL>", count: count)
      let text = "<MPD type='dynamic'>\(bases)<Period/></MPD>"
      let presentation = try #require(try DASHPresentation(Array(text.utf8), url: mpdURL))
      #expect(presentation.hasAlternatives == (count == 2))
    }
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2000-02-29T12:00:00.5Z", 951_825_600.5),
      ("2026-11-26T01:30:00+01:30", 1_795_651_200), ("2026-11-25T22:00:00-02:00", 1_795_651_200),
      ("2026-11-26T00:00:00", 1_795_651_200),
      ("2026-11-26", nil), ("2026-13-01T00:00:00Z", nil), ("T", nil), ("2026-11-26T25:61:00Z", nil),
      ("2026-11-26T00:00:nanZ", nil), ("", nil),
    ] as [(String, Double?)])
  func `Dates are read`(_ text: String, _ seconds: Double?) {
    #expect(DASHNumbers.date(text) == seconds)
  }
}
