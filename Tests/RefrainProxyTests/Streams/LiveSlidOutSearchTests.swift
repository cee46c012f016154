// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The decision when to search for what slid out before, and what MPDs name: pure values.
struct LiveSlidOutSearchTests {
  private typealias Version = SlidOutSegments.Version

  private func version(
    _ names: [String], of stream: String = "main", keepsAll: Bool = false
  ) -> Version {
    Version(
      playlist: CacheKey(rawValue: "\(stream)/list"), streams: [CacheKey(rawValue: stream)],
      targetDuration: 6, mediaSequence: 0, keepsAll: keepsAll,
      resources: names.map { Version.Resource(key: CacheKey(rawValue: $0), sequence: 0) })
  }

  @Test func `A stream is searched once, and again after an hour without a version`() {
    var policy = SlidOutSegments()
    #expect(policy.takeSearches(at: 0).isEmpty)
    policy.note(version(["a"]), at: 0)
    policy.note(version(["a"], of: "film", keepsAll: true), at: 0)
    let first = policy.takeSearches(at: 0)
    #expect(first.map(\.streams) == [[CacheKey(rawValue: "main")]] && first.first?.grace == 18)
    policy.note(version(["b"]), at: 3000)
    policy.note(version(["c"]), at: 6000)
    #expect(policy.takeSearches(at: 6000).isEmpty)
    policy.note(version(["d"]), at: 10_000)
    #expect(policy.takeSearches(at: 10_000).count == 1)
  }

  @Test func `The streams of a minute are searched at once`() {
    var policy = SlidOutSegments()
    policy.note(version(["a"]), at: 0)
    #expect(policy.takeSearches(at: 0).count == 1)
    for stream in ["one", "two"] { policy.note(version(["a"], of: stream), at: 1) }
    #expect(policy.takeSearches(at: 59).isEmpty)
    #expect(policy.takeSearches(at: 60).count == 2)
  }

  @Test func `A search that cannot read a playlist is repeated twice`() {
    var policy = SlidOutSegments()
    policy.note(version(["a"]), at: 0)
    for attempt in 0..<4 {
      let searches = policy.takeSearches(at: Double(attempt) * 60)
      #expect(searches.count == (attempt < 3 ? 1 : 0))
      for search in searches { policy.repeatLater(search) }
    }
  }

  @Test func `What a search finds goes first, unless a playlist names it by then`() throws {
    var policy = SlidOutSegments()
    policy.note(version(["named"]), at: 0)
    let search = try #require(policy.takeSearches(at: 0).first)
    let keys = ["old", "named", "other", "init", "key"].map { CacheKey(rawValue: $0) }
    var third = version(["x"], of: "third")
    third.others = [keys[3]]
    policy.note(third, at: 5)
    policy.leave(keys, of: search, at: 10)
    var second = version(["other"], of: "second")
    second.others = [keys[4]]
    policy.note(second, at: 20)
    #expect(policy.takeDue(at: 27.9).isEmpty)
    #expect(policy.takeDue(at: 28).map(\.key) == [keys[0]])
  }

  private func description(_ body: String, at time: Double) throws -> Version? {
    let url = try #require(URL(string: "http://a/x.mpd"))
    return Version(
      reading: Array(body.utf8), url: url, requested: url, of: CacheKey(rawValue: "main"),
      imported: [:], at: time
    ) { CacheKey(url: $0) }
  }

  @Test func `An MPD with a template gives up what leaves its time-shift buffer`() throws {
    let mpd = """
      <MPD type="dynamic" availabilityStartTime="1970-01-01T00:00:00Z" timeShiftBufferDepth="PT4S">
      <Period start="PT0S"><AdaptationSet><Representation id="v" bandwidth="1">
      <SegmentTemplate duration="2" media="$Number$.m4s" initialization="i.mp4"/>
      </Representation></AdaptationSet></Period></MPD>
      """
    var policy = SlidOutSegments()
    let first = try #require(try description(mpd, at: 100))
    #expect(first.others.map(\.rawValue) == ["http://a/i.mp4"] && first.pace == 2)
    #expect(first.targetDuration == 2 && !first.keepsAll && first.namesAll)
    policy.note(first, at: 100)
    policy.note(try #require(try description(mpd, at: 104)), at: 104)
    #expect(policy.takeDue(at: 110).map(\.key.rawValue) == ["http://a/47.m4s", "http://a/48.m4s"])
  }

  @Test func `A static MPD, and one whose segments are not known, give up nothing`() throws {
    let template = "<SegmentTemplate duration='2' media='$Number$.m4s'/>"
    for attributes in ["type='static' mediaPresentationDuration='PT4S'", "type='dynamic'"] {
      let mpd = """
        <MPD \(attributes)><Period><AdaptationSet><Representation id='v' bandwidth='1'>\(template)
        </Representation></AdaptationSet></Period></MPD>
        """
      let version = try #require(try description(mpd, at: 100))
      #expect(version.keepsAll && version.pace == nil, "\(attributes)")
    }
  }
}
