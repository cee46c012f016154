// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import Testing

@testable import RefrainCLI

@Suite(.timeLimit(.minutes(1))) struct FeedTests {
  private func read(
    _ text: String, from origin: String = "https://a.example/show/feed"
  ) throws -> Feed {
    try Feed(Data(text.utf8), from: #require(URL(string: origin)))
  }

  private func channel(_ items: String) -> String {
    "<rss version=\"2.0\"><channel><title>Show</title>\(items)</channel></rss>"
  }

  @Test func `The episodes of an RSS feed come newest first, with all that is known`() throws {
    let list = try read(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <?xml-stylesheet href="look.xsl"?>
      <!-- a feed -->
      <rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"
        xmlns:p20="https://podcastindex.org/namespace/1.0">
      <channel>
        <title>The
          Show</title>
        <image><url>/rss.png</url><title>Not the show</title></image>
        <itunes:image href="/show.jpg"/>
        <item>
          <title><![CDATA[Old & first]]></title>
          <pubDate>Mon, 02 Jan 2023 10:00:00 +0100</pubDate>
          <enclosure url="old.mp3?x=1&amp;y=2" type="audio/mpeg" length="5"/>
          <itunes:duration>754</itunes:duration>
        </item>
        <item>
          <title>New &#8211; second</title>
          <itunes:title>Second</itunes:title>
          <itunes:image href="ep.jpg"/>
          <pubDate>Tue, 03 Jan 2023 08:00 GMT</pubDate>
          <enclosure url="https://cdn.example/new" type="audio/mpeg"/>
          <itunes:duration>1:02:03</itunes:duration>
          <p20:chapters url="new.json" type="application/json+chapters"/>
        </item>
        <item><title>An article</title><link>https://a.example/article</link></item>
      </channel></rss>
      """)
    #expect(list.title == "The Show")
    #expect(list.titles == ["New – second", "Old & first"])
    #expect(list.episodes.allSatisfy { $0.artist == "The Show" && $0.album == "The Show" })
    #expect(
      list.locations == ["https://cdn.example/new", "https://a.example/show/old.mp3?x=1&y=2"])
    #expect(list.episodes.map(\.duration) == [.seconds(3723), .seconds(754)])
    #expect(
      list.episodes.map(\.artwork?.absoluteString) == [
        "https://a.example/show/ep.jpg", "https://a.example/show.jpg",
      ])
    #expect(
      list.episodes.map(\.chaptersURL?.absoluteString) == ["https://a.example/show/new.json", nil])
    #expect(list.skipped == ["1 entry has neither sound nor video."])
  }

  @Test func `The entries of an Atom feed are episodes by their enclosures`() throws {
    let list = try read(
      """
      <feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://b.example/audio/">
      <title type="html">A &amp;amp; B</title><logo>logo.png</logo>
      <entry><title>First</title><updated>2020-05-01T00:30:00+01:00</updated>
        <link rel="alternate" href="page.html"/>
        <link rel="enclosure" type="application/pdf" href="notes.pdf"/>
        <link rel="enclosure" type="audio/ogg" href="1.ogg"/></entry>
      <entry xml:base="more/"><title>Second</title>
        <published>2020-04-30T23:30:01Z</published><updated>2019-01-01T00:00:00Z</updated>
        <link href="2" rel="enclosure"/></entry>
      </feed>
      """)
    #expect(list.title == "A & B" && list.titles == ["Second", "First"])
    #expect(
      list.locations == ["https://b.example/audio/more/2", "https://b.example/audio/1.ogg"])
    #expect(list.episodes[1].artwork?.absoluteString == "https://b.example/audio/logo.png")
  }

  @Test func `Names of other vocabularies are not taken for those of the feed`() throws {
    let list = try read(
      """
      <rss xmlns:x="https://x.example/"><channel><title>Show</title><x:title>Other</x:title>
      <item><title>Real</title><x:title>Other</x:title><x:enclosure url="other.mp3"/>
      <description xmlns="http://www.w3.org/1999/xhtml"><title>Deep</title></description>
      <enclosure url="real.mp3"/><content:encoded>&lt;title></content:encoded></item>
      </channel></rss>
      """)
    #expect(list.titles == ["Real"] && list.locations == ["https://a.example/show/real.mp3"])
  }

  @Test func `Vocabularies are known by their namespaces, or else by the usual prefixes`() throws {
    let list = try read(
      """
      <a:feed xmlns:a="http://www.w3.org/2005/Atom" xmlns:itunes="https://other.example/"
        xmlns:x="http://www.itunes.com/dtds/podcast-1.0.dtd"><a:title>Show</a:title>
      <a:entry><a:link rel="enclosure" href="1.mp3"/><x:duration>9</x:duration>
      <itunes:duration>1</itunes:duration><podcast:chapters url="c.json"/></a:entry></a:feed>
      """)
    #expect(list.title == "Show" && list.episodes.map(\.duration) == [.seconds(9)])
    #expect(list.episodes.first?.chaptersURL?.lastPathComponent == "c.json")
  }

  @Test func `A feed is known by its first element, or else by its name or type`() throws {
    for text in [
      channel(""), "\u{FEFF} <?xml version='1.0'?><!-- -->\n<feed/>",
      "<!DOCTYPE rss [<!ENTITY a 'b'>]><rss/>",
    ] {
      #expect(ListKind(beginning: Data(text.utf8)) == .feed)
    }
    for other in ["<html><rss/></html>", "rss", "<MPD/>", "<playlist/>", "\u{1}<rss/>"] {
      #expect(ListKind(beginning: Data(other.utf8)) == nil)
    }
    let url = try #require(URL(string: "https://a.example/show"))
    #expect(ListKind(named: url) == nil)
    #expect(ListKind(named: url.appendingPathExtension("RSS")) == .feed)
    #expect(ListKind(named: url, mimeType: "Application/RSS+XML; charset=utf-8") == .feed)
    #expect(ListKind(named: url.appendingPathExtension("m3u")) == .playlist)
  }

  @Test func `A feed in UTF-16 or Latin-1 is read`() throws {
    let text = channel("<item><title>Ü</title><enclosure url='1.mp3'/></item>")
    let url = URL(filePath: "/show/feed.rss")
    for encoding in [String.Encoding.utf16, .isoLatin1] {
      let bytes = try #require(text.data(using: encoding))
      #expect(ListKind(beginning: bytes) == .feed)
      #expect(try Feed(bytes, from: url).titles == ["Ü"])
    }
  }

  @Test func `A feed from the network cannot name files`() throws {
    let list = try read(
      channel(
        "<item xml:base='file:///etc/'><enclosure url='passwd'/></item>"
          + "<item><enclosure url='file:///etc/passwd'/></item>"))
    #expect(list.episodes.isEmpty && list.skipped.count == 2)
  }

  @Test func `A feed that declares entities is refused`() throws {
    var declarations = #"<!ENTITY a0 "lol">"#
    for level in 1..<30 {
      declarations += "<!ENTITY a\(level) \"\(String(repeating: "&a\(level - 1);", count: 10))\">"
    }
    for declared in [declarations, #"<!ENTITY x SYSTEM "file:///etc/passwd">"#] {
      let text = "<!DOCTYPE rss [\(declared)]><rss><channel><title>&a29;&x;</title></channel></rss>"
      let error = try #require(throws: MediaCacheError.self) { try read(text) }
      #expect(error.reason.contains("declares entities"))
    }
    let plain = "<!DOCTYPE rss PUBLIC \"-//N//DTD RSS 0.91//EN\" \"rss.dtd\">" + channel("")
    #expect(try read(plain).episodes.isEmpty)
  }

  @Test func `A feed that ends early keeps its complete episodes`() throws {
    let list = try read("<rss><channel><item><enclosure url='1.mp3'/></item><item><enclos")
    #expect(list.locations == ["https://a.example/show/1.mp3"])
    #expect(list.skipped == ["The feed ends early: episodes may be missing."])
    #expect(throws: MediaCacheError.self) { try read("<rss>") }
  }

  @Test(arguments: [
    ("754", 754.0), ("12:34", 754), ("1:02:03.5", 3723.5), (" 00:00:07 ", 7), ("", nil),
    ("1:x", nil),
    ("-5", nil), ("1e9", nil), ("1:2:3:4", nil), ("99999999999999999999999", nil),
  ]) func `A duration has one of three forms`(_ text: String, _ seconds: Double?) {
    #expect(FeedTime.duration(text) == seconds.map { .seconds($0) })
  }

  @Test(arguments: [
    ("Thu, 01 Jan 1970 00:00:10 GMT", 10.0), ("1 Jan 70 00:01 EST", 18_060),
    ("29 February 2000 12:00:00 -0130", 951_831_000), ("2000-02-29T12:00:00.5Z", 951_825_600.5),
    ("2000-02-29", 951_782_400), ("1969-12-31T23:59:59+00:00", -1),
    ("Mon, 30 Feb 2023 25:00:00 GMT", nil), ("yesterday", nil), ("", nil),
    ("1 Foo 2000 00:00", nil),
  ]) func `A date has the form of mail or of the internet`(_ text: String, _ seconds: Double?) {
    #expect(FeedTime.date(text) == seconds)
  }
}

extension Feed {
  var locations: [String] { episodes.map(\.url.absoluteString) }
  var titles: [String?] { episodes.map(\.title) }
}
