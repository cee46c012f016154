// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer
@testable import RefrainPlayerStreams
@testable import RefrainStreams

/// Which playlists of a stream play, and how much of it is stored.
struct StreamMapTests {
  private let master = """
    #EXTM3U
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="German",LANGUAGE="de",URI="de.m3u8"
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
    #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",LANGUAGE="en",URI="subs.m3u8"
    #EXT-X-STREAM-INF:BANDWIDTH=1000,AUDIO="a",SUBTITLES="s"
    low.m3u8
    #EXT-X-STREAM-INF:BANDWIDTH=5000,AUDIO="a",SUBTITLES="s"
    high.m3u8
    """

  /// Returns a map with these playlists, each of three segments of four seconds: `low0.ts`, …
  private func map(
    _ text: String? = nil, isSoundOnly: Bool = false, with names: [String]
  ) throws -> StreamMap {
    var map = try #require(
      StreamMap(
        Array((text ?? master).utf8), at: try URL(named: "master.m3u8"), isSoundOnly: isSoundOnly,
        key: { CacheKey(url: $0) }))
    for name in names { try read(name, &map) }
    return map
  }

  private func read(_ name: String, _ map: inout StreamMap) throws {
    let index = try #require(
      map.playlists.firstIndex { $0.url?.lastPathComponent == "\(name).m3u8" })
    let lines = (0..<3).map { "#EXTINF:4,\n\(name)\($0).ts" }
    let text = "#EXTM3U\n" + lines.joined(separator: "\n") + "\n#EXT-X-ENDLIST\n"
    let stored = StoredPlaylist(
      Array(text.utf8), at: try URL(named: "\(name).m3u8"), key: { CacheKey(url: $0) })
    map.read(index, stored)
  }

  /// Answers the look-ups of requests: these segments are being fetched.
  private func fetch(_ names: [String], in map: inout StreamMap) throws {
    let keys = Set(try names.map { try CacheKey(named: "\($0).ts") })
    for key in keys { map.note(.fetchStarted(key, 0..<9)) }
    for changed in map.takeChangedFetches() {
      let timeline = try #require(map.playlists[changed.playlist].timeline)
      for resource in changed.resources where keys.contains(timeline.keys[resource]) {
        map.note(fetching: RangeSet(0..<9), of: resource, in: changed.playlist)
      }
    }
  }

  private func names(_ indices: [Int], _ map: StreamMap) -> [String] {
    indices.compactMap { map.playlists[$0].url?.deletingPathExtension().lastPathComponent }
  }

  @Test func `The variant plays of which a segment was opened last`() throws {
    var map = try map(with: ["low", "high", "de", "en"])
    #expect(names(map.playing, map) == ["low", "en"])
    map.note(.opened(try CacheKey(named: "high0.ts")))
    #expect(names(map.playing, map) == ["high", "en"] && map.variant?.bandwidth == 5000)
    map.note(.opened(try CacheKey(named: "de1.ts")))
    #expect(names(map.playing, map) == ["high", "de"])
    map.note(.opened(try CacheKey(named: "low2.ts")))
    #expect(names(map.playing, map) == ["low", "de"] && map.variant?.bandwidth == 1000)
  }

  @Test func `A segment that was opened before its playlist was read counts`() throws {
    var map = try map(with: ["low"])
    map.note(.opened(try CacheKey(named: "low0.ts")))
    map.note(.opened(try CacheKey(named: "high0.ts")))
    try read("high", &map)
    #expect(names(map.playing, map) == ["high", "en"])
  }

  @Test func `Before a segment is opened, the variant plays of which most is stored`() throws {
    var map = try map(with: ["low", "high", "en"])
    #expect(names(map.unsampled.sorted(), map) == ["low", "high"])
    for index in map.unsampled {
      map.noteShare(names([index], map) == ["high"] ? 0.5 : 0.2, of: index)
    }
    #expect(map.unsampled.isEmpty && names(map.playing, map) == ["high", "en"])
    map.note(.opened(try CacheKey(named: "low0.ts")))
    #expect(names(map.playing, map) == ["low", "en"])
  }

  @Test func `An engine without pictures plays the sound of the highest bit rate`() throws {
    var map = try map(isSoundOnly: true, with: ["low", "high", "de", "en"])
    #expect(names(map.playing, map) == ["en"] && map.variant?.bandwidth == 5000)
    // It examines the first segment of each playlist.
    for name in ["low0.ts", "high0.ts", "en0.ts", "de0.ts", "en1.ts"] {
      map.note(.opened(try CacheKey(named: name)))
    }
    #expect(names(map.playing, map) == ["en"])
    let plain = """
      #EXTM3U
      #EXT-X-STREAM-INF:BANDWIDTH=1
      low.m3u8
      #EXT-X-STREAM-INF:BANDWIDTH=9
      high.m3u8
      """
    let muxed = try self.map(plain, isSoundOnly: true, with: ["low", "high"])
    #expect(names(muxed.playing, muxed) == ["high"])
  }

  @Test func `A time is stored if pictures and sound are`() throws {
    var map = try map(with: ["low", "en"])
    #expect(map.progress?.duration == .seconds(12) && map.progress?.fraction == 0)
    try map.store(["low0.ts", "low1.ts", "en1.ts", "en2.ts"])
    #expect(map.progress?.cachedRanges.inSeconds == [[4, 8]])
    #expect(map.progress?.fraction == 4.0 / 12 && map.progress?.isComplete == false)
    try fetch(["low2"], in: &map)
    #expect(map.progress?.fetchingRanges.inSeconds == [[8, 12]])
    try map.store(["low0.ts", "low1.ts", "low2.ts", "en0.ts", "en1.ts", "en2.ts"])
    #expect(map.progress?.isComplete == true && map.progress?.fetchingRanges == [])
  }

  @Test func `Nothing is known while a playlist that plays is not stored`() throws {
    var map = try map(with: ["low"])
    #expect(map.progress == nil)
    try read("en", &map)
    #expect(map.progress != nil)
  }

  @Test func `A live stream has no stored times until it has ended`() throws {
    let live = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.ts\n"
    var map = try map(live, with: [])
    func read(_ text: String) throws {
      let stored = StoredPlaylist(
        Array(text.utf8), at: try URL(named: "master.m3u8"), key: { CacheKey(url: $0) })
      map.read(0, stored)
    }
    try read(live)
    #expect(map.progress == nil && !map.hasEnded)
    map.note(.fetchFinished(try CacheKey(named: "master.m3u8"), 0..<9, nil))
    #expect(map.unread == [0])
    try read(live + "#EXT-X-ENDLIST\n")
    #expect(map.hasEnded && map.unread == [] && map.progress?.duration == .seconds(4))
    // Another broadcast under the same URL.
    try read(live)
    map.note(.fetchFinished(try CacheKey(named: "a.ts"), 0..<9, nil))
    #expect(map.progress == nil && map.takeChanged().isEmpty)
  }

  @Test func `Missing segments are a permanent failure, an unreachable origin is none`() throws {
    var map = try map(with: ["low", "en"])
    let gone = MediaCacheError(.status, "It is not there.", status: 404)
    #expect(map.permanentFailure(after: .zero) == nil)
    map.note(.failed(try CacheKey(named: "low1.ts"), gone))
    #expect(map.permanentFailure(after: .seconds(3)) == gone)
    #expect(map.permanentFailure(after: .seconds(8)) == nil)
    for passing in [
      MediaCacheError(.unreachable, "It is far away."),
      MediaCacheError(.status, "Busy.", status: 503),
    ] {
      map.note(.failed(try CacheKey(named: "low2.ts"), passing))
      #expect(map.permanentFailure(after: .seconds(3)) == nil)
    }
    // Another variant's failure is another matter.
    map.note(.failed(try CacheKey(named: "low2.ts"), gone))
    try read("high", &map)
    map.note(
      .failed(try CacheKey(named: "high2.ts"), MediaCacheError(.unreachable, "It is far away.")))
    #expect(map.permanentFailure(after: .seconds(3)) == gone)
  }

  @Test func `A live playlist that stays the same is no change`() throws {
    var map = try map("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.ts\n", with: [])
    var answered = Uptime.now
    func read(_ names: String..., from first: Int = 0) throws {
      let text =
        "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:\(first)\n"
        + names.map { "#EXTINF:4,\n\($0).ts\n" }.joined()
      let stored = StoredPlaylist(
        Array(text.utf8), at: try URL(named: "master.m3u8"), key: { CacheKey(url: $0) })
      answered = answered + 1
      map.read(0, stored, answered: answered)
    }
    #expect(map.liveChanges == nil && map.liveAnswers == [])
    try read("a", "b")
    try read("a", "b")
    #expect(map.liveChanges == 1 && map.liveAnswers == [answered])
    map.readLiveAgain()
    #expect(map.unread == [0])
    try read("a", "b", "c")
    #expect(map.liveChanges == 2)
    try read("b", "c", "d", from: 1)
    #expect(map.liveChanges == 3)
    map.note(
      .failed(try CacheKey(named: "master.m3u8"), MediaCacheError(.unreachable, "It is far away.")))
    #expect(map.liveChanges == 4)
    map.note(
      .failed(try CacheKey(named: "master.m3u8"), MediaCacheError(.status, "Gone.", status: 410)))
    #expect(map.liveChanges == 4)
  }

  @Test func `An event counts for the playlist or the segment with its key`() throws {
    let text = Array("#EXTM3U\n#EXTINF:4,\na.ts\n#EXTINF:4,\nb.ts\n#EXT-X-ENDLIST\n".utf8)
    let base = try URL(named: "list.m3u8")
    var map = try #require(
      StreamMap(text, at: base, isSoundOnly: true, key: { CacheKey(url: $0) }))
    map.read(0, StoredPlaylist(text, at: base, key: { CacheKey(url: $0) }))
    let first = map.takeChanged()
    #expect(first.map(\.resources) == [[0, 1]] && map.unread == [])
    let concerns = map.note(.fetchFinished(try CacheKey(named: "b.ts"), 0..<9, nil))
    #expect(concerns)
    let changed = map.takeChanged()
    #expect(changed.map(\.resources) == [[1]])
    map.note(.fetchFinished(CacheKey(url: base), 0..<9, nil))
    #expect(map.unread == [0])
  }

  @Test(arguments: [(1000, 1000, 2000), (1001, 1, nil), (1, 1001, nil)])
  func `A manifest with too many variants or renditions has no map`(
    _ variants: Int, _ renditions: Int, _ count: Int?
  ) throws {
    let sounds = (0..<renditions).map {
      "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"\($0)\",URI=\"s\($0).m3u8\"\n"
    }
    let pictures = (0..<variants).map {
      "#EXT-X-STREAM-INF:BANDWIDTH=\($0 + 1),AUDIO=\"a\"\nv\($0).m3u8\n"
    }
    let text = "#EXTM3U\n" + sounds.joined() + pictures.joined()
    let map = StreamMap(
      Array(text.utf8), at: try URL(named: "master.m3u8"), isSoundOnly: true,
      key: { CacheKey(url: $0) })
    #expect(map?.playlists.count == count)
    #expect(map?.variant?.bandwidth == count.map { _ in Int64(variants) })
  }

  @Test func `Manifests of other kinds have no map`() throws {
    let address = try URL(named: "a")
    for text in ["#EXTM3U\nsong.mp3\n", "<MPD/>", ""] {
      let map = StreamMap(
        Array(text.utf8), at: address, isSoundOnly: false, key: { CacheKey(url: $0) })
      #expect(map == nil)
    }
  }
}
