// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// Feeds that are cut, damaged, or made to be expensive.
@Suite(.timeLimit(.minutes(TestSeed.minutes(2)))) struct HostileListTests {
  private static let feed = """
    <?xml version="1.0"?><rss xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>
    <title>Shöw</title><itunes:image href="a.png"/>
    <item><title><![CDATA[<A>]]> &amp; &#x1F3B5;</title>
    <pubDate>Mon, 02 Jan 2023 10:00:00 +0100</pubDate><enclosure url="1.mp3" type='audio/mpeg'/>
    <itunes:duration>1:02</itunes:duration><psc:chapters><psc:chapter start="1"/></psc:chapters>
    </item></channel></rss>
    """
  private static let atom = """
    <feed xmlns="http://www.w3.org/2005/Atom" xml:base="/x/"><title type="html">&amp;lt;</title>
    <entry><link rel="enclosure" href="1.ogg"/><updated>2020-01-01T00:00:00Z</updated></entry>
    </feed>
    """

  /// Reads a list in any of its roles. What it names has to be allowed.
  private func check(_ bytes: [UInt8], _ seed: UInt64) {
    for name in ["/l.rss", "https://a.example/x"].map(URL.of) {
      guard let list = try? Playlist(Data(bytes), from: name) else { continue }
      for media in list.entries {
        let scheme = media.url.scheme?.lowercased()
        #expect(
          ["http", "https"].contains(scheme) || (scheme == "file" && name.isFileURL),
          "REFRAIN_SEED=\(seed)")
        #expect(media.chapters.map(\.start) == media.chapters.map(\.start).sorted())
      }
    }
  }

  @Test(arguments: [feed, atom]) func `A list may be cut anywhere`(_ text: String) {
    let bytes = Array(text.utf8)
    for count in 0...bytes.count { check(Array(bytes[..<count]), 0) }
  }

  @Test func `Damaged lists do not crash the parser`() async {
    let seed = TestSeed.next()
    print("HostileListTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let known = [Self.feed, Self.atom].map { Array($0.utf8) }
    let grains = [
      "<", ">", "</", "/>", "<item>", "<![CDATA[", "]]>", "<!DOCTYPE x [", "&", "&#xD800;", "&#0;",
      "xml:base=\"file:///\"", "xmlns=\"\"", "xmlns:a='b'", "\"", "=",
      "99999999999999999999:00:00", "::", "-1", "1e999", "\u{0}", "\u{FEFF}", "ü", "\r", "\n",
    ].map { Array($0.utf8) }
    for round in 0..<(TestSeed.isSoak ? 100_000 : 250) {
      var bytes = known[round % known.count]
      for _ in 0..<Int.random(in: 1...8, using: &generator) {
        let place = Int.random(in: 0...bytes.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes.insert(contentsOf: grains.randomElement(using: &generator) ?? [], at: place)
        case 1: bytes.removeSubrange(place..<min(bytes.count, place + 9))
        case 2 where place < bytes.count: bytes[place] = UInt8(truncatingIfNeeded: generator.next())
        default: bytes.insert(UInt8(truncatingIfNeeded: generator.next()), at: place)
        }
      }
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
    let list = try Playlist.reading(text, from: "https://a.example/feed")
    #expect(list.entries.count == count && list.entries[0].title == "Episode 49")
  }

  /// Input that makes an algorithm of quadratic time exceed the time limit.
  @Test(
    .timeLimit(.minutes(TestSeed.minutes(1))),
    arguments: [
      ("<rss>", "<a>", ""), ("<rss><channel>", "<item>", ""), ("<rss ", "xmlns:a='b' ", "/>"),
      ("<rss ", "a", "='b'/>"), ("<rss><channel><title>", "&amp;", "</title></channel></rss>"),
      ("<rss><channel><title>", "<![CDATA[a]]>", ""), ("<rss><!--", "-- ", ""),
      ("<rss><channel>", "<a xmlns:b='c'>", ""), ("<rss><channel>", "<item xml:base='a/'>", ""),
      ("<rss><channel><item><psc:chapters>", "<psc:chapter start='1'/>", ""),
    ]) func `A long list that repeats one thing is read or refused`(
      _ head: String, _ repeated: String, _ tail: String
    )
  {
    let count = (TestSeed.isSoak ? 4 << 20 : 1 << 20) / repeated.utf8.count
    let text = head + String(repeating: repeated, count: count) + tail
    do {
      let list = try Playlist.reading(text, from: "/list.rss")
      #expect(list.entries.count + list.skipped.count <= Playlist.entryLimit + 2)
    } catch {
      #expect((error as? MediaCacheError)?.code == .invalidResponse)
    }
  }
}
