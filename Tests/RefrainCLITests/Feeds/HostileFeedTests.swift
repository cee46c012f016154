// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import TestSupport
import Testing

@testable import RefrainCLI

/// Feeds that are cut, damaged, or made to be expensive.
@Suite(.timeLimit(.minutes(TestSeed.minutes(2)))) struct HostileFeedTests {
  private static let feed = """
    <?xml version="1.0"?><rss xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>
    <title>Shöw</title><itunes:image href="a.png"/>
    <item><title><![CDATA[<A>]]> &amp; &#x1F3B5;</title>
    <pubDate>Mon, 02 Jan 2023 10:00:00 +0100</pubDate><enclosure url="1.mp3" type='audio/mpeg'/>
    <itunes:duration>1:02</itunes:duration><podcast:chapters url="c.json"/>
    </item></channel></rss>
    """
  private static let atom = """
    <feed xmlns="http://www.w3.org/2005/Atom" xml:base="/x/"><title type="html">&amp;lt;</title>
    <entry><link rel="enclosure" href="1.ogg"/><updated>2020-01-01T00:00:00Z</updated></entry>
    </feed>
    """

  private static let names = [
    URL(filePath: "/l.rss"), URL(string: "https://a.example/x"),
  ].compactMap(\.self)

  /// Reads a feed. What it names has to be allowed.
  private func check(_ bytes: [UInt8], _ seed: UInt64) {
    for name in Self.names {
      guard let feed = try? Feed(Data(bytes), from: name) else { continue }
      for media in feed.episodes {
        for url in [media.url, media.artwork, media.chaptersURL].compactMap(\.self) {
          let scheme = url.scheme?.lowercased()
          #expect(
            ["http", "https"].contains(scheme) || (scheme == "file" && name.isFileURL),
            "REFRAIN_SEED=\(seed)")
        }
      }
    }
  }

  @Test(arguments: [feed, atom]) func `A feed may be cut anywhere`(_ text: String) {
    let bytes = Array(text.utf8)
    for count in 0...bytes.count { check(Array(bytes[..<count]), 0) }
  }

  @Test func `Damaged feeds do not crash the parser`() async {
    let seed = TestSeed.next()
    print("HostileFeedTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let known = [Self.feed, Self.atom].map { Array($0.utf8) }
    let grains = [
      "<", ">", "</", "/>", "<item>", "<![CDATA[", "]]>", "<!DOCTYPE x [", "&", "&#xD800;", "&#0;",
      "xml:base=\"file:///\"", "xmlns=\"\"", "xmlns:a='b'", "\"", "=",
      "99999999999999999999:00:00", "::", "-1", "1e999", "\u{0}", "\u{FEFF}", "ü", "\r", "\n",
    ].map { Array($0.utf8) }
    for round in 0..<(TestSeed.isSoak ? 100_000 : 250) {
      var bytes = known[round % known.count]
      bytes.damage(with: grains, &generator)
      check(bytes, seed)
      if round % 50 == 0 { await Task.yield() }
    }
  }

  /// Ten megabytes and five thousand episodes in a soak, else a tenth of that.
  @Test func `A long feed with many episodes is read`() throws {
    let count = TestSeed.isSoak ? 5_000 : 500
    let notes = String(
      repeating: "&lt;p&gt;Much is said about this episode.&lt;/p&gt;\n", count: 38)
    var text = "<rss><channel><title>Show</title>"
    for index in 0..<count {
      text += """
        <item><title>Episode \(index)</title><enclosure url="\(index).mp3" type="audio/mpeg"/>
        <pubDate>Mon, 02 Jan 2023 10:00:\(10 + index % 50) GMT</pubDate>
        <description>\(notes)</description></item>
        """
    }
    text += "</channel></rss>"
    #expect(text.utf8.count > count * 2048)
    let feed = try Feed(Data(text.utf8), from: Self.names[1])
    #expect(feed.episodes.count == count && feed.episodes[0].title == "Episode 49")
  }

  /// Input that makes an algorithm of quadratic time exceed the time limit.
  @Test(
    .timeLimit(.minutes(TestSeed.minutes(1))),
    arguments: [
      ("<rss>", "<a>", ""), ("<rss><channel>", "<item>", ""), ("<rss ", "xmlns:a='b' ", "/>"),
      ("<rss ", "a", "='b'/>"), ("<rss><channel><title>", "&amp;", "</title></channel></rss>"),
      ("<rss><channel><title>", "<![CDATA[a]]>", ""), ("<rss><!--", "-- ", ""),
      ("<rss><channel>", "<a xmlns:b='c'>", ""), ("<rss><channel>", "<item xml:base='a/'>", ""),
      ("<rss><channel><item>", "<enclosure url='a'/>", ""), ("<rss><channel><item>", "<a>", ""),
    ]) func `A long feed that repeats one thing is read or refused`(
      _ head: String, _ repeated: String, _ tail: String
    )
  {
    let count = (TestSeed.isSoak ? 4 << 20 : 1 << 20) / repeated.utf8.count
    let text = head + String(repeating: repeated, count: count) + tail
    do {
      let feed = try Feed(Data(text.utf8), from: Self.names[0])
      #expect(feed.episodes.count + feed.skipped.count <= Playlist.entryLimit + 2)
    } catch {
      #expect(error.code == .invalidResponse)
    }
  }

  @Test func `An overlong base URL is ignored`() throws {
    let long = String(repeating: "a/", count: 1 << 20)
    let items = String(repeating: "<item><enclosure url='b.mp3'/></item>", count: 2000)
    let text = "<rss xml:base=\"\(long)\"><channel>\(items)</channel></rss>"
    let feed = try Feed(Data(text.utf8), from: Self.names[1])
    #expect(feed.locations == Array(repeating: "https://a.example/b.mp3", count: 2000))
  }

  @Test func `The number of episodes and of bytes is limited`() throws {
    let items = String(repeating: "<item/>", count: Playlist.entryLimit + 1)
    for bytes in [Data("<rss><channel>\(items)".utf8), Data(count: Feed.byteLimit + 1)] {
      let error = try #require(throws: MediaCacheError.self) {
        try Feed(bytes, from: Self.names[0])
      }
      #expect(error.reason.contains("limit") && error.code == .invalidResponse)
    }
  }
}
