// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

@Suite(.timeLimit(.minutes(2))) struct XSPFTests {
  private func reading(
    _ tracks: String, from origin: String = "https://a.example/l/list.xspf"
  ) throws -> Playlist {
    try .reading(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <playlist version="1" xmlns="http://xspf.org/ns/0/"><trackList>\(tracks)</trackList></playlist>
      """, from: origin)
  }

  @Test func `A playlist written by VLC is read`() throws {
    let playlist = try Playlist.reading(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <playlist xmlns="http://xspf.org/ns/0/" xmlns:vlc="http://www.videolan.org/vlc/playlist/ns/0/" version="1">
      \t<title>Wiedergabeliste</title>
      \t<trackList>
      \t\t<track>
      \t\t\t<location>file:///home/me/Music/Nina%20Simone/01%20-%20Why%3F.mp3</location>
      \t\t\t<title>Why? (The King of Love Is Dead)</title>
      \t\t\t<creator>Nina Simone</creator>
      \t\t\t<album>&#39;Nuff Said!</album>
      \t\t\t<image>file:///home/me/cover.jpg</image>
      \t\t\t<annotation>Not &amp; shown</annotation>
      \t\t\t<duration>345678</duration>
      \t\t\t<extension application="http://www.videolan.org/vlc/playlist/0">
      \t\t\t\t<vlc:id>0</vlc:id><title>of the extension</title><location>ftp://x</location>
      \t\t\t</extension>
      \t\t</track>
      \t</trackList>
      \t<extension application="http://www.videolan.org/vlc/playlist/0"><vlc:item tid="0"/></extension>
      </playlist>
      """, from: "/home/me/list.xspf")
    let media = try #require(playlist.entries.first)
    #expect(playlist.title == "Wiedergabeliste" && playlist.entries.count == 1)
    #expect(media.url.path == "/home/me/Music/Nina Simone/01 - Why?.mp3")
    #expect(media.title == "Why? (The King of Love Is Dead)" && media.artist == "Nina Simone")
    #expect(media.album == "'Nuff Said!" && media.artwork?.path == "/home/me/cover.jpg")
    #expect(media.duration == .milliseconds(345_678) && playlist.skipped.isEmpty)
  }

  @Test func `The first usable location of a track is used`() throws {
    let playlist = try reading(
      """
      <track><location>ftp://x/1</location><location> http://a.example/1 </location>
      <location>http://a.example/2</location></track>
      <track><title>nowhere</title></track>
      <track><location>file:///etc/passwd</location></track>
      """)
    #expect(playlist.locations == ["http://a.example/1"])
    #expect(playlist.skipped.count == 2)
    #expect(playlist.skipped[0] == "Line 4: The track has no location.")
    #expect(playlist.skipped[1].contains("a playlist from the network cannot name"))
  }

  @Test func `Locations are resolved against their base URL`() throws {
    let playlist = try Playlist.reading(
      """
      <playlist xmlns="http://xspf.org/ns/0/" xml:base="https://cdn.example/music/">
      <trackList xml:base="album/">
      <track><location>1.mp3?a=b#t</location><image>cover.jpg</image></track>
      <track xml:base="/other/"><location>2.mp3</location></track>
      <track><location xml:base="x/">3.mp3</location></track>
      <track xml:base="file:///etc/"><location>passwd</location></track>
      </trackList></playlist>
      """, from: "https://a.example/l/list.xspf")
    #expect(
      playlist.locations == [
        "https://cdn.example/music/album/1.mp3?a=b", "https://cdn.example/other/2.mp3",
        "https://cdn.example/music/album/x/3.mp3",
      ])
    #expect(playlist.entries.first?.artwork?.absoluteString.hasSuffix("album/cover.jpg") == true)
    #expect(playlist.skipped.count == 1)
  }

  @Test func `Text may be in CDATA, and elements may have any prefix`() throws {
    let playlist = try Playlist.reading(
      """
      <x:playlist xmlns:x="http://xspf.org/ns/0/"><x:trackList><x:track>
      <x:location>http://a.example/1</x:location><x:title><![CDATA[A & <B>]]> C</x:title>
      </x:track></x:trackList></x:playlist>
      """, from: "https://a.example/l.xspf")
    #expect(playlist.titles == ["A & <B> C"])
  }

  @Test func `An undeclared prefix is accepted`() throws {
    #expect(
      try reading("<track><location>1</location><vlc:id>3</vlc:id></track>").entries.count == 1)
  }

  @Test func `Text declared as Latin-1 is decoded as Latin-1`() throws {
    let bytes =
      Data(
        """
        <?xml version="1.0" encoding="ISO-8859-1"?>
        <playlist><trackList><track><location>1</location><title>Bj
        """.utf8.dropLast(0)) + [0xF6] + Data("rk</title></track></trackList></playlist>".utf8)
    let playlist = try Playlist(bytes, from: .of("/l.xspf"))
    #expect(playlist.titles == ["Björk"])
  }

  @Test func `A long playlist of non-ASCII titles is read completely`() throws {
    // Many times the size of the parser's input buffer, so that characters are split.
    let title = String(repeating: "日本語ü", count: 250)
    let track = "<track><location>1</location><title>\(title)</title></track>\n"
    let playlist = try reading(String(repeating: track, count: 300))
    #expect(playlist.titles == Array(repeating: title, count: 300))
  }

  @Test(arguments: [
    ("<playlist>\n<trackList>\n<track></trackList></playlist>", 3),
    ("<playlist>\n\n<title>a & b</title></playlist>", 3),
    ("<playlist><trackList>\n<track>", 2), ("<playlist a=b/>", 1),
    ("<?xml version='1.0'?>\n<playlist>\n<\u{1}></playlist>", 3), ("<playlist/>\n<playlist/>", 2),
  ]) func `The error for invalid XML names the line`(_ text: String, _ line: Int) throws {
    let error = try #require(throws: MediaCacheError.self) {
      try Playlist.reading(text, from: "/list.xspf")
    }
    #expect(error.code == .invalidResponse && !error.remedy.isEmpty)
    #expect(error.reason.contains("line \(line) "), "\(error.reason)")
  }

  @Test(arguments: [
    "<?a?>", "<?a ?>", "<?a b?>", "<?xml-stylesheet href='a'?>\n<?b?>", "<!-- <?a?> -->",
    "<?a?><?b?>",
  ])
  func `Processing instructions are skipped`(_ instruction: String) throws {
    let track = "<track><location>https://a.example/\u{E4}</location></track>"
    for text in [
      "\(instruction)<playlist><trackList>\(track)</trackList></playlist>",
      "<playlist>\(instruction)<trackList>\(track)\(instruction)</trackList></playlist>",
      "<playlist><trackList>\(track)</trackList></playlist>\(instruction)",
    ] {
      #expect(try Playlist.reading(text, from: "/list.xspf").entries.count == 1)
    }
  }

  @Test(arguments: ["<?a", "<?", "<playlist><?a", "<playlist><?a</playlist>", "<playlist/><?a?"])
  func `An unterminated processing instruction is refused`(_ text: String) {
    #expect(throws: MediaCacheError.self) { try Playlist.reading(text, from: "/list.xspf") }
  }

  @Test(arguments: [
    "<!DOCTYPE html><html></html>", "<html><body/></html>", "<rss/>", "plain text", "<", "",
  ])
  func `A document that is not a playlist is refused`(_ text: String) throws {
    let error = try #require(throws: MediaCacheError.self) {
      try Playlist.reading(text, from: "/list.xspf")
    }
    #expect(error.code == .invalidResponse)
  }

  @Test func `A document type declaration is refused`() throws {
    var declarations = #"<!ENTITY a0 "lol">"#
    for level in 1..<30 {
      declarations += "<!ENTITY a\(level) \"\(String(repeating: "&a\(level - 1);", count: 10))\">"
    }
    for declared in [declarations, #"<!ENTITY x SYSTEM "file:///etc/passwd">"#] {
      for before in ["", "<!-- <playlist> -->\n", "<?pi x?>\n"] {
        let error = try #require(throws: MediaCacheError.self) {
          try Playlist.reading(
            """
            <?xml version="1.0"?>
            \(before)<!DOCTYPE playlist [\(declared)]>
            <playlist><title>&a29;&x;</title></playlist>
            """, from: "/list.xspf")
        }
        #expect(error.reason.contains("document type"))
      }
    }
  }

  @Test func `Elements nested too deeply are refused`() throws {
    let deep = String(repeating: "<a>", count: 200_000)
    #expect(throws: MediaCacheError.self) { try reading(deep) }
  }
}
