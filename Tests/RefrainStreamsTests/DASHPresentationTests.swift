// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The rich MPD without elements that lie elsewhere.
let localMPD = richMPD.replacing("xlink:href", with: "title")

/// The segments that an MPD describes. Pure.
struct DASHPresentationTests {
  /// Returns the parts of all Representations as `/path first..<end`, without the host.
  private static func parts(_ text: String) throws -> [String] {
    var plan = StreamPlan()
    var allowance = DASHPresentation.Allowance()
    for period in try presentation(text).periods {
      for set in period.sets {
        try plan.append(set.representations, duration: period.duration, &allowance)
      }
    }
    return plan.parts.map { part in
      let range = part.range.map { " \($0.lowerBound)..<\($0.upperBound)" } ?? ""
      return part.url.absoluteString.replacing("https://a.example", with: "") + range
    }
  }

  private static func presentation(_ text: String) throws -> DASHPresentation {
    try #require(try DASHPresentation(Array(text.utf8), url: mpdURL))
  }

  /// Returns an MPD of 10 seconds with one Representation.
  private static func mpd(_ content: String, in set: String = "", of period: String = "") -> String
  {
    """
    <MPD type="static" mediaPresentationDuration="PT10S"><Period>\(period)<AdaptationSet>\(set)
    <Representation id="r1" bandwidth="800">\(content)</Representation>
    </AdaptationSet></Period></MPD>
    """
  }

  @Test func `Segments are counted by their duration`() throws {
    let template =
      "<SegmentTemplate timescale='1000' duration='4000' media='$Number$.m4s' initialization='i'/>"
    #expect(
      try Self.parts(Self.mpd(template))
        == ["/one/two/i", "/one/two/1.m4s", "/one/two/2.m4s", "/one/two/3.m4s"])
    // A rounding error is no segment.
    let thirds = "<SegmentTemplate timescale='3' duration='10' media='$Number$'/>"
    #expect(try Self.parts(Self.mpd(thirds)).count == 3)
    let bounded = "<SegmentTemplate duration='1' startNumber='5' endNumber='6' media='$Number$'/>"
    #expect(try Self.parts(Self.mpd(bounded)) == ["/one/two/5", "/one/two/6"])
  }

  @Test(arguments: [
    ("$Number%05d$", "00007"), ("$$$Number$$$", "$7$"),
    ("$Bandwidth$/$Bandwidth%06d$", "800/000800"), ("$RepresentationID$-$Number%01d$", "r1-7"),
    ("a", "a"),
  ])
  func `Identifiers of templates are replaced`(_ template: String, _ name: String) throws {
    let text = "<SegmentTemplate duration='10' startNumber='7' media='\(template)'/>"
    #expect(try Self.parts(Self.mpd(text)) == ["/one/two/\(name)"])
  }

  @Test(arguments: [
    "$Number", "$number$", "$SubNumber$", "$Number%5d$", "$Number%09999d$", "$Time$",
  ])
  func `Templates that are not understood are refused`(_ template: String) throws {
    let text = "<SegmentTemplate duration='10' media='\(template)'/>"
    #expect(throws: DASHProblem.self) { try Self.parts(Self.mpd(text)) }
  }

  @Test(arguments: [
    ("<S t='0' d='4' r='1'/><S d='2'/>", "", ["0", "4", "8"]),
    // Up to the end of the period, and up to the next run.
    ("<S d='4' r='-1'/>", "", ["0", "4", "8"]),
    ("<S t='0' d='2' r='-1'/><S t='5' d='5'/>", "", ["0", "2", "4", "5"]),
    ("<S t='100' d='5' r='-1'/>", "presentationTimeOffset='100'", ["100", "105"]),
    ("<S t='0' d='4'/><S t='6' d='4'/>", "", ["0", "6"]),
    ("<S d='1' r='9'/>", "endNumber='3'", ["0", "1", "2"]),
  ])
  func `A timeline names segments by time`(
    _ timeline: String, _ attributes: String, _ times: [String]
  ) throws {
    let template = "<SegmentTemplate media='$Time$' \(attributes)>"
    let text = "\(template)<SegmentTimeline>\(timeline)</SegmentTimeline></SegmentTemplate>"
    #expect(try Self.parts(Self.mpd(text)) == times.map { "/one/two/\($0)" })
  }

  @Test func `Numbers follow the timeline`() throws {
    let text = """
      <SegmentTemplate media='$Number$-$Time$' startNumber='3'><SegmentTimeline>
      <S d='2' r='1'/><S t='4' n='9' d='6'/></SegmentTimeline></SegmentTemplate>
      """
    #expect(
      try Self.parts(Self.mpd(text)) == ["/one/two/3-0", "/one/two/4-2", "/one/two/9-4"])
  }

  @Test func `What a level does not state comes from the levels above`() throws {
    let period = "<SegmentTemplate timescale='10' media='p$Number$' initialization='i'/>"
    let set = "<SegmentTemplate duration='50' startNumber='0'/>"
    let own = "<SegmentTemplate media='o$Number$'/>"
    #expect(
      try Self.parts(Self.mpd(own, in: set, of: period))
        == ["/one/two/i", "/one/two/o0", "/one/two/o1"])
    // Only descriptions of the same kind are inherited.
    #expect(
      try Self.parts(Self.mpd("<BaseURL>all.mp4</BaseURL><SegmentBase/>", in: set, of: period))
        == ["/one/two/all.mp4"])
  }

  @Test func `Lists name segments, ranges and indexes`() throws {
    let list = """
      <BaseURL>d/all.mp4</BaseURL><SegmentList duration='5'>
      <Initialization range='0-99'/><SegmentURL mediaRange='100-199'/>
      <SegmentURL media='2.m4s' index='2.idx'/></SegmentList>
      """
    #expect(
      try Self.parts(Self.mpd(list))
        == ["/one/two/d/all.mp4 0..<200", "/one/two/d/2.idx", "/one/two/d/2.m4s"])
  }

  @Test func `A file with its index is one part`() throws {
    let base = """
      <BaseURL>all.mp4</BaseURL><SegmentBase indexRange='100-199'><Initialization range='0-99'/>
      <RepresentationIndex sourceURL='x.idx'/></SegmentBase>
      """
    #expect(try Self.parts(Self.mpd(base)) == ["/one/two/x.idx", "/one/two/all.mp4"])
    #expect(try Self.parts(Self.mpd("<BaseURL>t.vtt</BaseURL>")) == ["/one/two/t.vtt"])
  }

  @Test func `Bases form a chain, of which the first at each level counts`() throws {
    let text = """
      <MPD mediaPresentationDuration="PT10S"><BaseURL>https://b.example/v/</BaseURL>
      <BaseURL>https://c.example/</BaseURL><Period><BaseURL>../w/</BaseURL><AdaptationSet>
      <SegmentTemplate duration="10" media="$Number$"/>
      <Representation id="1"><BaseURL><![CDATA[x&y/]]></BaseURL></Representation>
      <Representation id="2"><BaseURL>//d.example/</BaseURL></Representation>
      </AdaptationSet></Period></MPD>
      """
    #expect(try Self.parts(text) == ["https://b.example/w/x&y/1", "https://d.example/1"])
  }

  @Test func `The durations of periods follow from their starts`() throws {
    let period = "<AdaptationSet><Representation id='1'/></AdaptationSet></Period>"
    let text = """
      <MPD mediaPresentationDuration="P0DT1M40.5S"><Period start="PT0S">\(period)
      <Period start="PT30S" duration="PT20S">\(period)<Period>\(period)</MPD>
      """
    let presentation = try Self.presentation(text)
    #expect(presentation.periods.map(\.duration) == [30, 20, 50.5])
    #expect(presentation.duration == 100.5 && !presentation.isDynamic)
  }

  @Test func `Tracks are told apart by type, language and role`() throws {
    let sets = try #require(try Self.presentation(localMPD).periods.last).sets
    #expect(sets.map(\.kind) == [.video, .audio])
    #expect(sets[0].representations.map(\.height) == [360, 720])
    #expect(sets[0].language == "en")
    let text = """
      <MPD><Period><AdaptationSet mimeType="application/mp4" codecs="stpp" lang="de"/>
      <AdaptationSet contentType="audio"><Role schemeIdUri="urn:mpeg:dash:role:2011"
      value="commentary"/><Label>Regie</Label></AdaptationSet>
      <AdaptationSet mimeType="image/jpeg"/><AdaptationSet><ContentComponent contentType="audio"/>
      <ContentComponent contentType="video"/></AdaptationSet><AdaptationSet><EssentialProperty
      schemeIdUri="http://dashif.org/guidelines/trickmode"/><Representation mimeType="video/mp4"/>
      </AdaptationSet></Period></MPD>
      """
    let others = try Self.presentation(text).periods[0].sets
    #expect(others.map(\.kind) == [.text, .audio, .other, .video, .video])
    #expect(others[1].roles == ["commentary"] && others[1].label == "Regie")
    #expect(others.map(\.isTrickPlay) == [false, false, false, false, true])
  }

  @Test func `The bytes of elements are those between their tags`() throws {
    let text = Self.mpd("<BaseURL>a</BaseURL>")
    let set = try Self.presentation(text).periods[0].sets[0]
    let body = Array(text.utf8)
    #expect(
      String(decoding: body[set.representations[0].bytes], as: UTF8.self)
        == "<Representation id=\"r1\" bandwidth=\"800\"><BaseURL>a</BaseURL></Representation>")
    let whole = String(decoding: body[set.bytes], as: UTF8.self)
    #expect(whole.hasPrefix("<AdaptationSet>") && whole.hasSuffix("</AdaptationSet>"))
  }
}
