// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

@Suite struct M3UTests {
  @Test func `A plain list consists of locations and comments`() throws {
    let playlist = try Playlist.reading(
      "# my list\n\nhttp://a.example/1.mp3\n   \n\thttps://a.example/2.mp3?x=1&y=%2F  \n3.mp3")
    #expect(
      playlist.locations == [
        "http://a.example/1.mp3", "https://a.example/2.mp3?x=1&y=%2F",
        "https://music.example/lists/3.mp3",
      ])
    #expect(
      playlist.titles == [nil, nil, nil] && playlist.title == nil && playlist.skipped.isEmpty)
  }

  @Test func `An extended list has titles, artists and durations`() throws {
    let playlist = try Playlist.reading(
      """
      #EXTM3U
      #PLAYLIST:Evening
      #EXTINF:123,Nina Simone - Feeling Good
      1.mp3
      #EXTINF:-1,SomaFM: Groove Salad (#1)
      https://ice.example/groovesalad
      #EXTINF:12.5 , 03 - Intro
      2.mp3
      #EXTINF:0,Anna–Lena — Ein Lied - live
      3.mp3
      #EXTINF:7
      4.mp3
      #EXTINF:8 ,, and a comma
      5.mp3
      #EXTINF:9 Without - One
      6.mp3
      """)
    #expect(playlist.title == "Evening")
    #expect(
      playlist.titles == [
        "Feeling Good", "SomaFM: Groove Salad (#1)", "03 - Intro", "live", nil,
        ", and a comma", "One",
      ])
    #expect(
      playlist.artists == ["Nina Simone", nil, nil, "Anna–Lena — Ein Lied", nil, nil, "Without"])
    #expect(
      playlist.entries.map(\.duration) == [
        .seconds(123), nil, .milliseconds(12_500), nil, .seconds(7), .seconds(8), .seconds(9),
      ])
  }

  @Test(arguments: ["\n", "\r\n", "\r"]) func `Line endings of every system are accepted`(
    _ end: String
  ) throws {
    let playlist = try Playlist.reading(
      ["#EXTM3U", "", "#EXTINF:1,A - B", "a.mp3", "ftp://x", "b.mp3"].joined(separator: end))
    #expect(playlist.entries.count == 2 && playlist.titles == ["B", nil])
    #expect(playlist.skipped.first?.hasPrefix("Line 5: “ftp://x”") == true)
  }

  @Test func `A byte order mark is not part of the first line`() throws {
    #expect(try Playlist.reading("\u{FEFF}http://a.example/1").locations == ["http://a.example/1"])
    let utf16 = try #require(
      "\u{FEFF}#EXTM3U\r\nhttp://a.example/ü".data(using: .utf16LittleEndian))
    #expect(
      try Playlist(utf16, from: .of("/l.m3u")).locations == ["http://a.example/%C3%BC"])
  }

  @Test func `Text that is not UTF-8 is read as Windows-1252`() throws {
    let bytes =
      Data("#EXTM3U\n#EXTINF:1,Bj".utf8) + [0xF6] + Data("rk - It".utf8) + [0x92]
      + Data("s\nx.mp3".utf8)
    let playlist = try Playlist(bytes, from: .of("/music/list.m3u"))
    #expect(playlist.artists == ["Björk"] && playlist.titles == ["It’s"])
    // A .m3u8 file is UTF-8 by definition.
    let damaged = try Playlist(bytes, from: .of("/music/list.m3u8"))
    #expect(damaged.artists == ["Bj\u{FFFD}rk"])
  }

  @Test func `Locations are percent-encoded, and encoded ones are unchanged`() throws {
    let playlist = try Playlist.reading(
      "Ein Lied.mp3\nEin%20Lied.mp3\n100% Soul.mp3\nhttps://a.example/Ä b?q=ö c\n[live].mp3")
    #expect(
      playlist.locations == [
        "https://music.example/lists/Ein%20Lied.mp3", "https://music.example/lists/Ein%20Lied.mp3",
        "https://music.example/lists/100%25%20Soul.mp3",
        "https://a.example/%C3%84%20b?q=%C3%B6%20c",
        "https://music.example/lists/%5Blive%5D.mp3",
      ])
  }

  @Test func `File names in a local playlist may contain any character`() throws {
    let playlist = try Playlist.reading(
      "Who? #1.mp3\n../b/Nr. 5: Lied.mp3\n/abs/x y.mp3\n//abs/z.mp3\nfile:///f/%3F.mp3\nMozart: R.mp3",
      from: "/home/me/Music/list.m3u")
    #expect(
      playlist.entries.map(\.url.path) == [
        "/home/me/Music/Who? #1.mp3", "/home/me/b/Nr. 5: Lied.mp3", "/abs/x y.mp3", "/abs/z.mp3",
        "/f/?.mp3", "/home/me/Music/Mozart: R.mp3",
      ])
    #expect(playlist.entries.allSatisfy(\.url.isFileURL) && playlist.skipped.isEmpty)
  }

  @Test func `Absolute Windows paths are skipped and reported as such`() throws {
    for origin in ["/music/list.m3u", "https://music.example/lists/list.m3u"] {
      let playlist = try Playlist.reading(
        "Album\\01 Song.mp3\nC:\\Music\\a.mp3\nd:/Music/b.mp3\n\\\\server\\share\\c.mp3",
        from: origin)
      #expect(playlist.entries.count == 1 && playlist.skipped.count == 3)
      #expect(playlist.locations.first?.hasSuffix("/Album/01%20Song.mp3") == true)
      #expect(playlist.skipped.allSatisfy { $0.hasSuffix("is a Windows path.") })
    }
  }

  @Test func `A playlist from the network cannot name local files`() throws {
    let playlist = try Playlist.reading(
      "file:///etc/passwd\nFILE:/etc/passwd\nfile://localhost/etc/passwd\n/etc/passwd\na.mp3",
      from: "http://music.example/x/list.m3u")
    // An absolute path belongs to that host (RFC 3986 §5.2).
    #expect(
      playlist.locations == ["http://music.example/etc/passwd", "http://music.example/x/a.mp3"])
    #expect(playlist.skipped.count == 3)
    #expect(playlist.skipped[0].contains("a playlist from the network cannot name"))
    let pls = try Playlist.reading(
      "[playlist]\nFile1=file:///etc/passwd\nFile2=a.mp3", from: "https://a.example/l.pls")
    #expect(pls.locations == ["https://a.example/a.mp3"])
    #expect(pls.skipped.first?.hasPrefix("Line 2: ") == true)
  }

  @Test func `Only playable locations are accepted`() throws {
    let playlist = try Playlist.reading(
      "rtmp://a/b\nmms://a/b\njavascript:alert(1)\ndata:audio/wav;base64,AA\nhttp:///x\nspotify:track:1",
      from: "/list.m3u")
    #expect(playlist.entries.isEmpty && playlist.skipped.count == 6)
    #expect(try Playlist.reading("file://other/x.mp3", from: "/list.m3u").skipped.count == 1)
  }

  @Test func `Album, artist and image before the first entry apply to all entries`() throws {
    let playlist = try Playlist.reading(
      """
      #EXTM3U
      #EXTALB:Kind of Blue (1959)
      #EXTART:Miles Davis
      #EXTIMG: front cover
      cover.jpg
      #EXTINF:545,So What
      1.flac
      #EXTINF:589,Somebody Else - Freddie Freeloader
      #EXTALB:Another
      #EXTIMG:https://a.example/2.png
      2.flac
      3.flac
      """)
    #expect(playlist.entries.count == 3)
    #expect(playlist.artists == ["Miles Davis", "Somebody Else", "Miles Davis"])
    #expect(playlist.titles == ["So What", "Freddie Freeloader", nil])
    #expect(
      playlist.entries.map(\.album) == ["Kind of Blue (1959)", "Another", "Kind of Blue (1959)"])
    #expect(
      playlist.entries.map(\.artwork?.absoluteString) == [
        "https://music.example/lists/cover.jpg", "https://a.example/2.png",
        "https://music.example/lists/cover.jpg",
      ])
  }

  @Test func `Channel attributes are parsed`() throws {
    let playlist = try Playlist.reading(
      """
      #EXTM3U url-tvg="http://epg.example/x.gz" x-tvg-url="y"
      #EXTINF:-1 tvg-id="a" tvg-logo="https://a.example/l,1.png" group-title="News, World",One - HD
      #EXTGRP:News
      #EXTVLCOPT:http-user-agent=Mozilla/5.0
      #KODIPROP:inputstream=x
      https://a.example/one
      #EXTINF:-1 radio=true logo=l.png,Radio, the second
      https://a.example/two
      #EXTINF:5 unclosed="x,Title
      https://a.example/three
      """)
    #expect(playlist.titles[..<2] == ["One - HD", "Radio, the second"])
    #expect(playlist.artists == [nil, nil, nil] && playlist.entries.count == 3)
    #expect(
      playlist.entries.map(\.artwork?.absoluteString) == [
        "https://a.example/l,1.png", "https://music.example/lists/l.png", nil,
      ])
  }

  @Test(arguments: [
    "#EXT-X-TARGETDURATION:6\n#EXTINF:6,\nseg0.ts", "#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8",
    "#EXT-X-MEDIA-SEQUENCE:0", "#EXTINF:6,\nseg0.ts\n#EXT-X-ENDLIST", "#ext-x-targetduration:6",
  ]) func `An HTTP Live Stream is refused and named as such`(_ body: String) throws {
    let error = try #require(throws: MediaCacheError.self) {
      try Playlist.reading("#EXTM3U\n#EXT-X-VERSION:3\n\(body)")
    }
    #expect(error.code == .invalidResponse && error.reason.contains("HTTP Live Stream"))
    #expect(!error.remedy.isEmpty)
  }

  @Test func `Titles cannot control a terminal`() throws {
    let playlist = try Playlist.reading(
      "#EXTM3U\n#EXTINF:1,\u{1B}]0;x\u{7}A\u{9B}31m - B\u{2028}\nx\u{1B}[2J.mp3\nmms://\u{1B}[2J")
    let shown = [playlist.titles[0], playlist.artists[0], playlist.skipped[0]].compactMap(\.self)
    #expect(shown.count == 3)
    for text in shown {
      #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control })
    }
    #expect(playlist.locations == ["https://music.example/lists/x%1B%5B2J.mp3"])
  }
}
