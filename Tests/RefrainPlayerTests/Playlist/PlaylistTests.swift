// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

@Suite(.timeLimit(.minutes(3))) struct PlaylistTests {
  @Test func `The file name or the MIME type determines the format`() {
    let named: [(String, String?, Playlist.Format?)] = [
      ("a.m3u", nil, .m3u), ("a.M3U8", nil, .m3u), ("a.pls", nil, .pls),
      ("a.mp3", nil, nil), ("a", nil, nil), ("a.mp3?x=.m3u", nil, nil),
      ("a.php?x=1", "audio/x-mpegurl; charset=utf-8", .m3u), ("a", "Audio/X-SCPLS", .pls),
      ("a", "application/vnd.apple.mpegurl", .m3u), ("a", " audio/scpls ;q=1", .pls),
      ("a.pls", "application/octet-stream", .pls), ("a.m3u", "audio/x-scpls", .pls),
      ("a", "audio/mpeg", nil), ("a", ";;", nil),
    ]
    for (name, type, format) in named {
      let url = URL.of("https://a.example/\(name)")
      #expect(Playlist.format(of: url, mimeType: type) == format, "\(name), \(type ?? "-")")
    }
  }

  @Test func `The first bytes of a playlist take precedence over its name`() throws {
    let pls = "\n[Playlist]\nFile1=http://a.example/1"
    #expect(
      try Playlist.reading(pls, from: "/list.m3u", mimeType: "audio/x-mpegurl").entries.count == 1)
    #expect(try Playlist.reading("#EXTM3U\na.mp3", from: "/l.php").entries.count == 1)
  }

  @Test func `An empty playlist is valid`() throws {
    for text in ["", "\n\n", "#EXTM3U", "# nothing", "[playlist]"] {
      #expect(try Playlist.reading(text).entries.isEmpty)
    }
  }

  @Test func `A file that is not a playlist is refused with a remedy`() throws {
    let bad: [(Data, String)] = [
      (Data("hello".utf8), "/a.txt"), (Data([0x49, 0x44, 0x33, 0, 0, 0, 1]), "/a.m3u"),
      (Data("<html></html>".utf8), "https://a.example/list.m3u"),
      (Data("\n<rss><channel/></rss>".utf8), "/a.pls"),
      (Data(repeating: 0x0A, count: Playlist.byteLimit + 1), "/a.m3u"),
    ]
    for (bytes, name) in bad {
      let error = try #require(throws: MediaCacheError.self) {
        try Playlist(bytes, from: .of(name))
      }
      #expect(error.code == .invalidResponse && !error.remedy.isEmpty)
    }
  }

  @Test func `The number of entries is limited`() throws {
    let count = Playlist.entryLimit
    let most = String(repeating: "a\n", count: count)
    #expect(try Playlist.reading(most).entries.count == count)
    let texts = [
      // Skipped entries count too.
      most + "mms:x", "[playlist]\n" + (0...count).map { "File\($0)=a\n" }.joined(),
    ]
    // The formats share the code that counts, and take seconds.
    for text in TestSeed.isSoak ? texts : [texts[0]] {
      let error = try #require(throws: MediaCacheError.self) { try Playlist.reading(text) }
      #expect(error.reason.contains("\(count)"))
    }
  }

  @Test(arguments: Playlist.Format.allCases) func `A written playlist is read back unchanged`(
    _ format: Playlist.Format
  ) throws {
    let seed = TestSeed.next()
    print("PlaylistTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<(TestSeed.isSoak ? 3_000 : 100) {
      let playlist = Playlist.random(for: format, &generator)
      let text = playlist.text(as: format)
      let read = try Playlist(Data(text.utf8), from: .of("/music/list.\(format.rawValue)"))
      #expect(read == playlist, "REFRAIN_SEED=\(seed)\n\(text)")
      if read != playlist { return }
    }
  }

  /// A title of several lines would add entries.
  @Test(arguments: Playlist.Format.allCases) func `A title cannot inject entries`(
    _ format: Playlist.Format
  ) throws {
    let evil = "x\nfile:///etc/passwd\r\nFile9=file:///etc/passwd\u{85}</title></track><track>\u{0}"
    let media = Media(.of("https://a.example/1"), title: evil, artist: evil, album: evil)
    let text = Playlist(title: evil, entries: [media]).text(as: format)
    let read = try Playlist(Data(text.utf8), from: .of("/list"))
    #expect(read.locations == ["https://a.example/1"] && read.skipped.isEmpty)
  }

  @Test func `Damaged and random playlists do not crash the parser`() async throws {
    let seed = TestSeed.next()
    print("PlaylistTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let names = ["/l.m3u", "/l.m3u8", "/l.pls", "https://a.example/x"].map(URL.of)
    let known = Playlist.Format.allCases.flatMap { format in
      (0..<3).map { _ in Array(Playlist.random(for: format, &generator).text(as: format).utf8) }
    }
    let grains = [
      "#EXTINF:", "#EXTIMG:", "\"", "=", ",", " - ", "\r", "\n", "&", "<", ">", "<![CDATA[", "]]>",
      "%", "\\", "://", ":", "file:", "\u{FEFF}", "ü", "[playlist]", "File1=", "]",
      "<!DOCTYPE x [", "&#0;", "&#xD800;", "..", "1e999", "-", "\u{1F3B5}", "?", "#", "http://[",
    ].map { Array($0.utf8) }
    for round in 0..<(TestSeed.isSoak ? 100_000 : 1_000) {
      var bytes = known[round % known.count]
      bytes.damage(with: grains, &generator)
      if round % 50 == 0 {
        bytes = (0..<200).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      }
      for name in names {
        guard let playlist = try? Playlist(Data(bytes), from: name) else { continue }
        for media in playlist.entries {
          let scheme = media.url.scheme?.lowercased()
          #expect(
            ["http", "https"].contains(scheme) || (scheme == "file" && name.isFileURL),
            "REFRAIN_SEED=\(seed)")
        }
      }
      if round % 50 == 0 { await Task.yield() }
    }
  }

  // MARK: Large ones, built to make naive parsing take for ever or exhaust memory

  private func filled(_ head: String, _ repeated: String, _ tail: String = "") -> String {
    let rest = (1 << 19) - head.utf8.count - tail.utf8.count
    return head + String(repeating: repeated, count: rest / repeated.utf8.count) + tail
  }

  @Test(arguments: [
    ("", "\n"), ("", "a"), ("#EXTINF:", "1"), ("#EXTINF:1 ", "a=\" "), ("#EXTINF:1 ", "a "),
    ("#EXTINF:1,", "- "), ("#", "a:"), ("#EXTIMG:", "/"), ("", "\\"), ("", "../"), ("", "%"),
  ]) func `A very long line is read`(_ head: String, _ repeated: String) throws {
    let playlist = try Playlist.reading(filled("#EXTM3U\n" + head, repeated))
    #expect(playlist.entries.count <= 1)
  }

  @Test func `A long artist for all entries is shortened in each entry`() throws {
    let long = String(repeating: "a - ", count: 1 << 20)
    let playlist = try Playlist.reading(
      "#EXTM3U\n#EXTART:\(long)\n" + String(repeating: "#EXTINF:1,a\nb\n", count: 20_000))
    #expect(playlist.entries.count == 20_000)
    #expect(playlist.entries.allSatisfy { ($0.artist?.count ?? 0) <= PlaylistText.shownLimit })
  }

  @Test func `A very long line in a PLS section is read`() throws {
    #expect(try Playlist.reading(filled("[playlist]\nFile1=", "=")).entries.count == 1)
  }
}

/// Manifests of streams, told from lists of songs by their first bytes.
@Suite struct StreamKindTests {
  @Test(
    arguments: [
      ("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts", .hls),
      ("#EXTM3U\r\n#EXT-X-STREAM-INF:X=1\r\na", .hls),
      ("\u{FEFF}#EXTM3U\n\n## a comment\n#EXT-X-INDEPENDENT-SEGMENTS\n", .hls),
      ("#extm3u\n#ext-x-endlist\n", .hls),
      ("#EXTM3U\n#EXTINF:123,Artist - Title\nsong.mp3\n", nil),
      ("#EXTM3U\n#EXT-X-SOMETHING-ELSE:1\na.mp3\n", nil), ("song.mp3\n#EXT-X-ENDLIST\n", nil),
      ("#EXTM3U\n", nil), ("", nil),
      ("<MPD type=\"static\"></MPD>", .dash),
      ("<?xml version=\"1.0\"?>\n<!-- <rss> -->\n<MPD>", .dash),
      (
        "\u{FEFF}<?xml version=\"1.0\"?><dash:MPD xmlns:dash=\"urn:mpeg:dash:schema:mpd:2011\"/>",
        .dash
      ),
      ("<playlist><MPD/></playlist>", nil), ("<!-- <MPD> -->", nil), ("<!-- <MPD>", nil),
      ("<!DOCTYPE html><html>", nil), ("<", nil), ("<MPDX>", nil), ("text <MPD>", nil),
    ] as [(String, StreamKind?)])
  func `The tags of HLS and the root MPD make a stream`(_ text: String, _ kind: StreamKind?) {
    #expect(StreamKind(beginning: text.utf8) == kind)
  }

  @Test func `Bytes of media are no stream`() {
    #expect(StreamKind(beginning: SilentMP3.frames(100)) == nil)
  }
}

extension Playlist {
  /// - Parameter origin: a URL, or a path that begins with a slash.
  static func reading(
    _ text: String, from origin: String = "https://music.example/lists/list.m3u",
    mimeType: String? = nil
  ) throws -> Playlist {
    try Playlist(Data(text.utf8), from: .of(origin), mimeType: mimeType)
  }

  var locations: [String] { entries.map(\.url.absoluteString) }
  var titles: [String?] { entries.map(\.title) }
  var artists: [String?] { entries.map(\.artist) }
}

extension URL {
  static func of(_ text: String) -> URL {
    text.hasPrefix("/")
      ? URL(fileURLWithPath: text) : URL(string: text) ?? URL(fileURLWithPath: "/nothing")
  }
}

extension Playlist {
  /// Returns media that the format can express: PLS has neither albums, pictures nor fractions of a
  /// second.
  fileprivate static func random(
    for format: Format, _ generator: inout SeededGenerator
  ) -> Playlist {
    func text(_ generator: inout SeededGenerator) -> String? {
      guard Int.random(in: 0..<4, using: &generator) > 0 else { return nil }
      let grains = [
        "Song", "a", "ü", "日本", "🎵", " ", "'", "\"", "&", "<", ">", "]]>", "#", "=", ";", ",",
        "%20",
        ":", "/", "?", "\\", "-", "–", "[x]",
      ]
      let made = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
        grains.randomElement(using: &generator) ?? ""
      }.joined().trimmingCharacters(in: .whitespaces)
      // A dash between spaces separates artist from title.
      return made.isEmpty || made.contains(" - ") || made.contains(" – ") || made.hasPrefix("- ")
        || made.hasSuffix(" -") || made.hasPrefix("– ") || made.hasSuffix(" –") ? "x" : made
    }
    func url(_ generator: inout SeededGenerator) -> URL {
      let urls = [
        "https://a.example/x%20y.mp3?a=b&c=%2F", "http://[::1]:8080/",
        "https://u:p@a.example/%C3%BC",
        "/music/a b?#%.mp3", "/ü/日本.flac", "https://a.example/a,b;c='d'",
      ]
      return URL.of(urls.randomElement(using: &generator) ?? "")
    }
    var playlist = Playlist(title: text(&generator))
    for _ in 0..<Int.random(in: 0..<6, using: &generator) {
      var media = Media(url(&generator), title: text(&generator))
      if Bool.random(using: &generator) {
        let seconds = Int.random(in: 1..<100_000, using: &generator)
        media.duration = format == .pls ? .seconds(seconds) : .milliseconds(seconds)
      }
      // An artist alone in its line is a title.
      if format != .pls || media.title != nil { media.artist = text(&generator) }
      if format != .pls {
        media.album = text(&generator)
        if Bool.random(using: &generator) { media.artwork = url(&generator) }
      }
      playlist.entries.append(media)
    }
    return playlist
  }
}
