// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// MPDs that are broken, unclear, or describe more than can be fetched.
@Suite(.timeLimit(.minutes(TestSeed.minutes(2)))) struct DASHPresentationHostileTests {
  private static func count(_ body: [UInt8]) throws -> Int? {
    guard let presentation = try DASHPresentation(body, url: mpdURL) else { return nil }
    var plan = StreamPlan()
    var allowance = DASHPresentation.Allowance()
    for period in presentation.periods {
      for set in period.sets {
        try plan.append(set.representations, duration: period.duration, &allowance)
      }
    }
    return plan.parts.count
  }

  private static func count(segments: String, duration: String = "PT10S") throws -> Int? {
    let text = """
      <MPD mediaPresentationDuration="\(duration)"><Period><AdaptationSet>
      <Representation id="\(String(repeating: "r", count: 3900))">\(segments)</Representation>
      </AdaptationSet></Period></MPD>
      """
    return try count(Array(text.utf8))
  }

  @Test(arguments: [
    "<SegmentTemplate duration='1' timescale='1000000' media='$Number$'/>",
    "<SegmentTemplate duration='1' timescale='9223372036854775806' media='$Number$'/>",
    "<SegmentTemplate media='$Time$'><SegmentTimeline><S d='1' r='9223372036854775806'/>"
      + "</SegmentTimeline></SegmentTemplate>",
    "<SegmentTemplate media='$Time$'><SegmentTimeline><S d='1' r='150000'/><S d='1' r='150000'/>"
      + "</SegmentTimeline></SegmentTemplate>",
    "<SegmentTemplate timescale='2000' duration='1' media='$RepresentationID$$Number$'/>",
    "<SegmentTemplate duration='1' media='$RepresentationID$$RepresentationID$"
      + "$RepresentationID$$RepresentationID$$RepresentationID$'/>",
  ])
  func `More segments or longer URLs than can be fetched are refused`(_ segments: String) {
    #expect(throws: DASHProblem.self) { try Self.count(segments: segments) }
  }

  @Test(arguments: ["<S t='0' d='1' r='-1'/>", "<S d='1'/>"])
  func `Runs without segments count as work`(_ run: String) throws {
    func count(representations: Int) throws -> Int? {
      let text = """
        <MPD mediaPresentationDuration="PT10S"><Period><AdaptationSet>
        <SegmentTemplate media='$Time$' endNumber='0'><SegmentTimeline>
        \(String(repeating: run, count: 2000))</SegmentTimeline></SegmentTemplate>
        \(String(repeating: "<Representation/>", count: representations))
        </AdaptationSet></Period></MPD>
        """
      return try Self.count(Array(text.utf8))
    }
    #expect(try count(representations: 10) == 0)
    #expect(throws: DASHProblem.isTooLarge) { try count(representations: 101) }
  }

  @Test func `An element with too many attributes is refused`() throws {
    func presentation(attributes: Int) throws -> DASHPresentation? {
      let text = (0..<attributes).map { "a\($0)=''" }.joined(separator: " ")
      let set = "<AdaptationSet \(text)><Representation/></AdaptationSet>"
      return try DASHPresentation(Array("<MPD><Period>\(set)</Period></MPD>".utf8), url: mpdURL)
    }
    #expect(try presentation(attributes: 256)?.periods.first?.sets.count == 1)
    #expect(try presentation(attributes: 257) == nil)
  }

  @Test(arguments: [
    "<SegmentTemplate media='$Time$'><SegmentTimeline><S t='9223372036854775800' d='9' r='3'/>"
      + "</SegmentTimeline></SegmentTemplate>",
    "<SegmentTemplate duration='9223372036854775806' media='$Number$' "
      + "startNumber='9223372036854775806'/>",
    "<SegmentTemplate duration='1' startNumber='9223372036854775806' endNumber='0' media='a'/>",
    "<SegmentTemplate timescale='1' media='$Time$' presentationTimeOffset='9223372036854775806'>"
      + "<SegmentTimeline><S d='9223372036854775806' r='-1'/></SegmentTimeline></SegmentTemplate>",
  ])
  func `The greatest numbers do no harm`(_ segments: String) throws {
    #expect(try (0...4).contains(Self.count(segments: segments) ?? -1))
  }

  @Test(arguments: [
    "", "<SegmentTemplate/>", "<SegmentList duration='1'/>", "<SegmentBase/>",
    "<SegmentTemplate duration='0' media='a'/>", "<SegmentTemplate timescale='0' media='a'/>",
    "<SegmentTemplate duration='x' media='a'/>", "<SegmentTemplate duration='-1' media='a'/>",
    "<SegmentTemplate media='$Time$'><SegmentTimeline><S d='0'/></SegmentTimeline>"
      + "</SegmentTemplate>",
    "<SegmentTemplate media='$Time$'><SegmentTimeline><S d='1' k='2'/></SegmentTimeline>"
      + "</SegmentTemplate>",
    "<SegmentTemplate media='$Time$'><SegmentTimeline><Pattern/></SegmentTimeline>"
      + "</SegmentTemplate>",
    "<BaseURL>folder/</BaseURL>", "<BaseURL byteRange='a'>all.mp4</BaseURL>",
    "<SegmentList xmlns:l='http://www.w3.org/1999/xlink' l:href='list'/>",
  ])
  func `Segments that are not known are refused`(_ segments: String) {
    #expect(throws: DASHProblem.self) { try Self.count(segments: segments) }
  }

  @Test func `Without a duration, an endless description is refused`() throws {
    for segments in [
      "<SegmentTemplate duration='1' media='$Number$'/>",
      "<SegmentTemplate media='$Time$'><SegmentTimeline><S d='1' r='-1'/></SegmentTimeline>"
        + "</SegmentTemplate>",
    ] {
      #expect(throws: DASHProblem.self) { try Self.count(segments: segments, duration: "") }
    }
  }

  @Test func `Remote elements are refused, unless they are to be removed`() throws {
    let set = "<AdaptationSet><Representation><BaseURL>a</BaseURL></Representation></AdaptationSet>"
    func text(_ link: String) -> [UInt8] {
      Array("<MPD><Period xlink:href='\(link)'/><Period>\(set)</Period></MPD>".utf8)
    }
    #expect(throws: DASHProblem.isRemote) { try Self.count(text("https://b.example/p")) }
    #expect(try Self.count(text("urn:mpeg:dash:resolve-to-zero:2013")) == 1)
  }

  @Test(arguments: [
    "", "<MPD>", "<MPD><Period></MPD>", "<a><MPD/></a>",
    "<!DOCTYPE MPD [<!ENTITY a 'b'>]><MPD></MPD>", "<SmoothStreamingMedia/>",
  ])
  func `What is no whole MPD is none`(_ text: String) throws {
    #expect(try DASHPresentation(Array(text.utf8), url: mpdURL) == nil)
  }

  @Test func `Unknown elements of any depth are skipped`() throws {
    let depth = 50_000
    let deep = String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
    let text = "<MPD>\(deep)<Period><AdaptationSet><b><Representation/></b></AdaptationSet>"
    let presentation = try DASHPresentation(Array("\(text)</Period></MPD>".utf8), url: mpdURL)
    #expect(presentation?.periods.map(\.sets.count) == [1])
    #expect(presentation?.periods.first?.sets.first?.representations.isEmpty == true)
  }

  @Test func `A chain of long bases ends`() throws {
    let base = "<BaseURL>\(String(repeating: "a", count: 3000))/</BaseURL>"
    let representation = "<Representation>\(base)<SegmentTemplate media='a'/></Representation>"
    let text = """
      <MPD>\(base)<Period>\(base)<AdaptationSet>
      \(String(repeating: representation, count: 300))</AdaptationSet></Period></MPD>
      """
    #expect(throws: DASHProblem.self) { try Self.count(Array(text.utf8)) }
    let many = String(repeating: "<Representation/>", count: 10_001)
    let wide = "<MPD><Period><AdaptationSet>\(many)</AdaptationSet></Period></MPD>"
    #expect(throws: DASHProblem.isTooLarge) { try Self.count(Array(wide.utf8)) }
  }

  @Test func `Random damage is read without harm`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    let original = Array(localMPD.utf8)
    let marks = Array("<>/\"'=!$%-0123456789r \u{0}é".utf8)
    var read = 0
    for _ in 0..<100 {
      var body = original
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let index = Int.random(in: body.indices, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: body[index] = marks.randomElement(using: &random) ?? 0
        case 1: body.remove(at: index)
        default: body.insert(marks.randomElement(using: &random) ?? 0, at: index)
        }
      }
      guard let presentation = try? DASHPresentation(body, url: mpdURL) else { continue }
      read += 1
      for set in presentation.periods.flatMap(\.sets) {
        for representation in set.representations {
          #expect(
            set.bytes.lowerBound < representation.bytes.lowerBound
              && representation.bytes.upperBound <= set.bytes.upperBound, "seed \(seed)")
        }
      }
    }
    #expect(read > 0, "seed \(seed)")
  }
}
