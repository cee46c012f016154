// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer
@testable import RefrainPlayerStreams
@testable import RefrainStreams

/// Which Representations of a DASH stream play, and how much of it is stored.
struct StreamMapDASHTests {
  /// Three segments of four seconds: `low1.m4s`, …
  private func set(_ type: String, _ names: [(id: String, bandwidth: Int)], _ more: String = "")
    -> String
  {
    let representations = names.map {
      "<Representation id='\($0.id)' bandwidth='\($0.bandwidth)'/>"
    }
    return """
      <AdaptationSet mimeType='\(type)/mp4' \(more)>
      <SegmentTemplate duration='4' media='$RepresentationID$$Number$.m4s'
        initialization='$RepresentationID$.mp4'/>
      \(representations.joined())</AdaptationSet>
      """
  }

  private func mpd(_ sets: [String], type: String = "static") -> String {
    "<MPD type='\(type)' mediaPresentationDuration='PT12S'><Period>\(sets.joined())</Period></MPD>"
  }

  private var film: String {
    mpd([
      set("video", [("low", 1000), ("high", 5000)]), set("audio", [("de", 64)], "lang='de'"),
      set("audio", [("en", 64), ("good", 128)], "lang='en' selectionPriority='2'"),
    ])
  }

  private func map(_ text: String, isSoundOnly: Bool = false) throws -> StreamMap? {
    StreamMap(
      presentation: Array(text.utf8), at: try URL(named: "film.mpd"), isSoundOnly: isSoundOnly,
      key: { CacheKey(url: $0) })
  }

  /// Returns the names of the initializations of what plays.
  private func playing(_ map: StreamMap) throws -> [String] {
    try map.playing.map {
      try #require(map.playlists[$0].timeline?.urls.first).deletingPathExtension().lastPathComponent
    }
  }

  @Test func `The Representations play of which a segment was opened last`() throws {
    var map = try #require(try map(film))
    // What a player takes that has not said anything yet.
    #expect(try playing(map) == ["high", "good"])
    // It examines the first segment of each.
    for name in ["low1.m4s", "high1.m4s", "de1.m4s", "en1.m4s", "good1.m4s"] {
      map.note(.opened(try CacheKey(named: name)))
    }
    map.note(.opened(try CacheKey(named: "low2.m4s")))
    map.note(.opened(try CacheKey(named: "de2.m4s")))
    #expect(try playing(map) == ["low", "de"])
    #expect(map.variant?.bandwidth == 1000)
  }

  @Test func `An engine without pictures plays the sound alone`() throws {
    let map = try #require(try map(film, isSoundOnly: true))
    #expect(try playing(map) == ["good"])
    let radio = try #require(try self.map(mpd([set("audio", [("a", 64), ("b", 128)])])))
    #expect(try playing(radio) == ["b"])
  }

  @Test func `A time is stored if pictures and sound are, with their initializations`() throws {
    var map = try #require(try map(film))
    #expect(map.progress?.duration == .seconds(12) && map.progress?.fraction == 0)
    let segments = ["high1.m4s", "high2.m4s", "good2.m4s", "good3.m4s"]
    try map.store(segments)
    #expect(map.progress?.fraction == 0)
    try map.store(segments + ["high.mp4", "good.mp4"])
    #expect(map.progress?.cachedRanges.inSeconds == [[4, 8]])
    #expect(map.hasEnded && map.liveChanges == nil)
  }

  @Test func `Segments in one file are known once their index is read`() throws {
    let text = """
      <AdaptationSet mimeType='audio/mp4'><Representation id='a' bandwidth='9'>
      <BaseURL>a.mp4</BaseURL><SegmentBase indexRange='2-3'><Initialization range='0-1'/>
      </SegmentBase></Representation></AdaptationSet>
      """
    var map = try #require(try map(mpd([text])))
    let (index, file) = try #require(map.unindexed.first)
    #expect(file.index.range == 2..<4)
    try map.store(["a.mp4"], ranges: [0..<6])
    #expect(map.progress?.duration == .seconds(12) && map.progress?.fraction == 0)
    // The second segment needs the initialization, which stands before the index.
    let parts = [
      StreamPlan.Part(url: try URL(named: "a.mp4"), range: 0..<4),
      StreamPlan.Part(url: try URL(named: "a.mp4"), range: 4..<6, seconds: 3),
      StreamPlan.Part(url: try URL(named: "a.mp4"), range: 6..<9, seconds: 9),
    ]
    map.read(index, indexed: StreamTimeline(parts, key: { CacheKey(url: $0) }))
    #expect(map.unindexed.isEmpty)
    try map.store(["a.mp4"], ranges: [4..<9])
    #expect(map.progress?.fraction == 0)
    try map.store(["a.mp4"], ranges: [0..<6])
    #expect(map.progress?.cachedRanges.inSeconds == [[0, 3]])
    try map.store(["a.mp4"], ranges: [0..<9])
    #expect(map.progress?.isComplete == true)
  }

  @Test func `What is not segments of a finished stream has no map`() throws {
    #expect(try map("#EXTM3U") == nil)
    #expect(try map(mpd([set("audio", [("a", 64)])], type: "dynamic")) == nil)
    #expect(try map(mpd([])) == nil)
    #expect(try map(mpd([set("text", [("a", 64)])])) == nil)
    let many = set("video", (0...StreamMap.mostChoices).map { ("r\($0)", 1) })
    #expect(try map(mpd([many])) == nil)
    let endless = """
      <AdaptationSet mimeType='audio/mp4'><SegmentTemplate media='$Number$' timescale='1'>
      <SegmentTimeline><S d='9000000000000000000' r='9'/></SegmentTimeline></SegmentTemplate>
      <Representation id='a' bandwidth='9'/></AdaptationSet>
      """
    // No sum of what it states overflows.
    _ = try map(mpd([endless]))?.progress
  }
}
