// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

@Suite(.timeLimit(.minutes(1))) struct FeedTests {
  private func read(
    _ text: String, from origin: String = "https://a.example/show/feed"
  ) throws -> Playlist {
    try .reading(text, from: origin)
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
        xmlns:p20="https://podcastindex.org/namespace/1.0"
        xmlns:psc="http://podlove.org/simple-chapters/">
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
          <itunes:author>Guest</itunes:author>
          <itunes:image href="ep.jpg"/>
          <pubDate>Tue, 03 Jan 2023 08:00 GMT</pubDate>
          <enclosure url="https://cdn.example/new" type="audio/mpeg"/>
          <itunes:duration>1:02:03</itunes:duration>
          <p20:chapters url="new.json" type="application/json+chapters"/>
          <psc:chapters version="1.2">
            <psc:chapter start="00:05:00.5" title="Two" href="https://b.example/"/>
            <psc:chapter start="00:00:00" title="One" image="1.png"/>
            <psc:chapter start="never" title="None"/>
          </psc:chapters>
        </item>
        <item><title>An article</title><link>https://a.example/article</link></item>
      </channel></rss>
      """)
    #expect(list.title == "The Show")
    #expect(list.titles == ["New – second", "Old & first"])
    #expect(list.artists == ["Guest", "The Show"])
    #expect(list.entries.allSatisfy { $0.album == "The Show" })
    #expect(
      list.locations == ["https://cdn.example/new", "https://a.example/show/old.mp3?x=1&y=2"])
    #expect(list.entries.map(\.duration) == [.seconds(3723), .seconds(754)])
    #expect(
      list.entries.map(\.artwork?.absoluteString) == [
        "https://a.example/show/ep.jpg", "https://a.example/show.jpg",
      ])
    #expect(list.entries[0].chaptersURL?.absoluteString == "https://a.example/show/new.json")
    let chapters = list.entries[0].chapters
    #expect(chapters.map(\.title) == ["One", "Two"])
    #expect(chapters.map(\.start) == [.zero, .milliseconds(300_500)])
    #expect(chapters[0].artwork?.absoluteString == "https://a.example/show/1.png")
    #expect(chapters[1].link?.absoluteString == "https://b.example/")
    #expect(list.skipped == ["1 entry has neither sound nor video."])
  }

  @Test func `The entries of an Atom feed are episodes by their enclosures`() throws {
    let list = try read(
      """
      <feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://b.example/audio/">
      <title type="html">A &amp;amp; B</title><logo>logo.png</logo>
      <author><name>Group</name><uri>https://b.example/</uri></author>
      <entry><title>First</title><updated>2020-05-01T00:30:00+01:00</updated>
        <link rel="alternate" href="page.html"/>
        <link rel="enclosure" type="application/pdf" href="notes.pdf"/>
        <link rel="enclosure" type="audio/ogg" href="1.ogg"/></entry>
      <entry xml:base="more/"><title>Second</title><author><name>Solo</name></author>
        <published>2020-04-30T23:30:01Z</published><updated>2019-01-01T00:00:00Z</updated>
        <link href="2" rel="enclosure"/></entry>
      </feed>
      """)
    #expect(list.title == "A & B" && list.titles == ["Second", "First"])
    #expect(list.artists == ["Solo", "Group"])
    #expect(
      list.locations == ["https://b.example/audio/more/2", "https://b.example/audio/1.ogg"])
    #expect(list.entries[1].artwork?.absoluteString == "https://b.example/audio/logo.png")
  }

  @Test func `Feeds of RSS 1 and of Media RSS are read`() throws {
    let old = try read(
      """
      <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
        xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"
        xmlns:enc="http://purl.oclc.org/net/rss_2.0/enc#">
      <channel><title>Old</title></channel>
      <item><title>A</title><dc:creator>Me</dc:creator><enc:enclosure rdf:resource="/a.mp3"/></item>
      </rdf:RDF>
      """)
    #expect(old.locations == ["https://a.example/a.mp3"] && old.artists == ["Me"])
    let media = try read(
      channel(
        """
        <item><media:group><media:content url="a.jpg" medium="image"/>
        <media:content url="v.mp4" medium="video" duration="9"/>
        <media:thumbnail url="t.jpg"/></media:group></item>
        """))
    #expect(media.locations == ["https://a.example/show/v.mp4"])
    #expect(media.entries[0].duration == .seconds(9) && media.entries[0].title == nil)
    #expect(media.entries[0].artwork?.lastPathComponent == "t.jpg")
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

  @Test func `A feed is known by its content, not by its name or type`() throws {
    let text = channel("<item><enclosure url='1.mp3'/></item>")
    for (name, type) in [
      ("/l.m3u", "audio/x-mpegurl"), ("/l.pls", nil), ("https://a.example/f", "text/html"),
      ("https://a.example/f.m3u8", "audio/mpeg"),
    ] {
      #expect(try Playlist.reading(text, from: name, mimeType: type).entries.count == 1)
      #expect(PlaylistKind(beginning: Data(text.utf8)) == .feed)
    }
    for other in ["<html><rss/></html>", "rss", "<MPD/>", "<playlist/>", "\u{1}<rss/>"] {
      #expect(PlaylistKind(beginning: Data(other.utf8)) == nil)
    }
  }

  @Test func `A feed from the network cannot name files`() throws {
    let list = try read(
      channel(
        "<item xml:base='file:///etc/'><enclosure url='passwd'/></item>"
          + "<item><enclosure url='file:///etc/passwd'/></item>"))
    #expect(list.entries.isEmpty && list.skipped.count == 2)
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
    #expect(try read(plain).entries.isEmpty)
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

  @Test func `Chapters in a file of their own are read`() throws {
    let text = """
      {"version":"1.2.0","chapters":[{"startTime":60.5,"title":"Two","url":"page","x":[]},
      {"startTime":0,"title":"One\\nline","img":"https://c.example/1.png"},
      {"startTime":9,"title":"Hidden","toc":false},{"startTime":-1}]}
      """
    let chapters = try Media.chapters(Data(text.utf8), from: .of("https://a.example/c/1.json"))
    #expect(chapters.map(\.title) == ["One line", "Two"])
    #expect(chapters.map(\.start) == [.zero, .milliseconds(60_500)])
    #expect(chapters[1].link?.absoluteString == "https://a.example/c/page")
    for bad in ["", "[]", "{\"chapters\":[{}]}", String(repeating: "[", count: 100_000)] {
      #expect(throws: MediaCacheError.self) {
        try Media.chapters(Data(bad.utf8), from: .of("https://a.example/c.json"))
      }
    }
    let long = try #require(throws: MediaCacheError.self) {
      try Media.chapters(Data(count: Media.longestChapterFile + 1), from: .of("/c.json"))
    }
    #expect(long.reason.contains("exceeds the limit of 4 MiB"))
  }
}
