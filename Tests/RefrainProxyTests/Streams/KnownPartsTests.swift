// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// The URLs that manifests have named.
@Suite(.timeLimit(.minutes(1))) struct KnownPartsTests {
  private let manifest = CacheKey(rawValue: "http://h/v/main.mpd")
  private let mpd = """
    <MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period><AdaptationSet><Representation id="1">
    <SegmentTemplate media="s$Number$.m4s"/></Representation></AdaptationSet></Period></MPD>
    """

  private func parts(of text: String, at url: URL) throws -> StreamParts {
    var rewriting = ManifestRewriting(
      url: url, clientTarget: "/x", removesSteering: true, target: { _ in nil })
    let rewritten = try rewriting.rewrite(Array(text.utf8))
    return try #require(rewritten).parts
  }

  /// Knows an MPD in `http://h/v/`.
  private func knownMPD() throws -> KnownParts {
    let url = try #require(URL(string: manifest.rawValue))
    let known = KnownParts()
    known.insert(try parts(of: mpd, at: url), of: url, in: manifest)
    return known
  }

  @Test func `A file belongs to the MPD in a directory above it`() throws {
    let known = try knownMPD()
    let cases: [(String, Bool)] = [
      ("http://h/v/s1.m4s", true), ("http://h/v/a/b/s1.m4s", true),
      ("http://h/v/s1.m4s?x=/y", true), ("http://h/w/s1.m4s", false), ("http://h/s1.m4s", false),
      ("http://h/w?/v/s1.m4s", false),
      // Files beside the stream's.
      ("http://h/v/news.m4s", false), ("http://h/v/s1.mp3", false), ("http://h/v/s.m4s", false),
      ("http://h/v/main.mp4", false),
    ]
    for (text, isPart) in cases {
      let url = try #require(URL(string: text))
      #expect(known.contains(url) == isPart, "\(text)")
      #expect((known.policy(of: url)?.group?.first == manifest) == isPart, "\(text)")
    }
  }

  @Test func `Only the nearest 64 directories are searched`() throws {
    let known = try knownMPD()
    func isPart(below path: String) throws -> Bool {
      let url = try #require(URL(string: "http://h/v/\(path)s1.m4s"))
      #expect((known.policy(of: url) != nil) == known.contains(url))
      return known.contains(url)
    }
    // Longer than every known directory, so that they are not compared.
    #expect(try isPart(below: String(repeating: "/", count: 16_000)))
    let long = try #require(URL(string: "http://h/\(String(repeating: "x", count: 500))/a.mpd"))
    known.insert(try parts(of: mpd, at: long), of: long, in: CacheKey(url: long))
    for (count, isNear) in [(50, true), (63, true), (64, false), (8000, false)] {
      let path = String(repeating: "a/", count: count)
      // Of a longer path, the first 500 bytes are searched.
      #expect(try isPart(below: path) == isNear, "\(count)")
    }
  }

  @Test func `A playlist that is named as a key too is revalidated`() throws {
    let known = KnownParts()
    let url = try #require(URL(string: "http://h/main.m3u8"))
    let playlist = try #require(URL(string: "http://h/low.m3u8"))
    let stream = CacheKey(url: url)
    let asKey = "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"low.m3u8\"\n#EXTINF:2,\n0.ts\n"
    let asPlaylist = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\n"
    known.insert(try parts(of: asKey, at: url), of: url, in: stream)
    #expect(known.contains(playlist))
    for text in [asPlaylist, asKey] {
      known.insert(try parts(of: text, at: url), of: url, in: stream)
      #expect(!known.contains(playlist))
    }
    let both = "#EXTM3U\n#EXT-X-SESSION-KEY:METHOD=AES-128,URI=\"low.m3u8\"\n"
    let fresh = KnownParts()
    let text = both + "#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\n"
    fresh.insert(try parts(of: text, at: url), of: url, in: stream)
    #expect(!fresh.contains(playlist) && fresh.policy(of: playlist)?.group?.first == stream)
  }
}
