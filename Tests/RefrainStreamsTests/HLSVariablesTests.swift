// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// EXT-X-DEFINE and the substitution of variables.
@Suite struct HLSVariablesTests {
  static let cases: [(lines: String, texts: [String])] = [
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n{$a}.ts", ["1.ts"]),
    ("#EXT-X-DEFINE:VALUE=\"1\",NAME=\"a\"\nx{$a}y{$a}", ["x1y1"]),
    // Only a definition before counts, and the first one.
    ("{$a}.ts\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"", ["{$a}.ts"]),
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"2\"\n{$a}", ["1"]),
    // A value may use earlier variables. Its result is not substituted again.
    (
      "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n#EXT-X-DEFINE:NAME=\"b\",VALUE=\"{$a}2\"\n{$b}",
      ["12"]
    ),
    (
      "#EXT-X-DEFINE:NAME=\"b\",VALUE=\"{$a}\"\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n{$b}",
      ["{$a}"]
    ),
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n#EXT-X-MAP:URI=\"{$a}.mp4\"", ["1.mp4"]),
    // An undefined variable and other braces stay.
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n{$b}{$a}{a}{$}{$a b}{$a", ["{$b}1{a}{$}{$a b}{$a"]),
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n{${$a}}", ["{$1}"]),
    ("#EXT-X-DEFINE:NAME=\"A-b_9\",VALUE=\"1\"\n{$A-b_9}{$a-b_9}", ["1{$a-b_9}"]),
    ("#EXT-X-DEFINE:NAME=\"a\"\nx{$a}", ["x"]),
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n{$a}", ["1"]),
    ("#EXT-X-DEFINE:IMPORT=\"parent\"\n{$parent}", ["p"]),
    ("{$parent}", ["{$parent}"]),
    ("#EXT-X-DEFINE:IMPORT=\"unknown\"\n{$unknown}", ["{$unknown}"]),
    ("#EXT-X-DEFINE:QUERYPARAM=\"t\"\ns?t={$t}", ["s?t=a+b/c=="]),
    ("#EXT-X-DEFINE:QUERYPARAM=\"n\"\n{$n}", ["1"]),
    ("#EXT-X-DEFINE:QUERYPARAM=\"none\"\nx{$none}", ["x"]),
    ("#EXT-X-DEFINE:QUERYPARAM=\"bad\"\n{$bad}", ["%FF"]),
    ("#EXT-X-DEFINE:QUERYPARAM=\"missing\"\n{$missing}", ["{$missing}"]),
  ]

  @Test(arguments: cases.indices)
  func `Variables are substituted by the definitions that precede`(index: Int) throws {
    let (lines, texts) = Self.cases[index]
    let url = try #require(
      URL(string: "https://a.example/m.m3u8?n=1&t=a%2Bb%2Fc==&none&bad=%FF&n=2#t=3"))
    let found = HLSPlaylists.references(
      "#EXTM3U\n\(lines)\n", url: url, imported: ["parent": "p", "a": "imported"])
    #expect(found.references.map(\.text) == texts, "\(lines)")
  }

  @Test func `The range of a substituted reference is that of its spelling`() {
    let text = "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"long value\"\n{$a}\n"
    let found = HLSPlaylists.references(text).references
    #expect(found.map { String(decoding: Array(text.utf8)[$0.range], as: UTF8.self) } == ["{$a}"])
  }

  @Test func `A text longer than the limit is no reference`() {
    let limit = HLSReader.longestText
    let value = String(repeating: "v", count: limit - 1)
    let head = "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"\(value)\"\n"
    let lengths = HLSPlaylists.texts("\(head){$a}\n{$a}1\n{$a}12\n1{$a}2\n{$a}{$a}\nx\n").map(
      \.count)
    #expect(lengths == [limit - 1, limit, 1])
    #expect(HLSPlaylists.texts("#EXTM3U\n\(value)1\n\(value)12\nx").map(\.count) == [limit, 1])
  }

  @Test func `A long film whose segments begin with a long variable is read to its end`() throws {
    let base = "https://cdn.example/" + String(repeating: "k", count: 580) + "/"
    let list =
      "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-DEFINE:NAME=\"b\",VALUE=\"\(base)\"\n"
      + (0..<1800).map { "#EXTINF:4.000,\n{$b}s\($0 + 10_000).ts\n" }.joined()
      + "#EXT-X-ENDLIST\n"
    let playlist = try #require(try HLSMediaPlaylist.read(Array(list.utf8), url: HLSPlaylists.url))
    #expect(playlist.segments.count == 1800 && playlist.totalDuration == 7200)
    #expect(playlist.segments.last?.uri == base + "s11799.ts")
  }

  /// Playlists with texts that are too long, each alone or all together.
  static let tooLong: [String] = [
    definition(of: 60_000) + String(repeating: "#EXTINF:4,\n{$a}.ts\n", count: 600),
    definition(of: 40_000) + "#EXTINF:4,\n{$a}{$a}.ts\n",
    definition(of: 40_000) + "#EXT-X-DEFINE:NAME=\"b\",VALUE=\"{$a}{$a}\"\n#EXTINF:4,\n{$b}.ts\n",
    "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"\(String(repeating: "v", count: 70_000))\"\n"
      + "#EXTINF:4,\n{$a}.ts\n",
    "#EXTINF:4,\nhttps://a.example/\(String(repeating: "v", count: 70_000)).ts\n",
  ]

  private static let problem = MediaCacheError(
    .invalidResponse,
    "\(HLSPlaylists.url.absoluteString) cannot be read: its references, with the values of their "
      + "variables (EXT-X-DEFINE), are too long.", remedy: "Play the stream from its origin.")

  private static func definition(of length: Int) -> String {
    "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"https://a.example/\(String(repeating: "v", count: length))\"\n"
  }

  @Test(arguments: tooLong.indices)
  func `A playlist with texts that are too long is an error, and no shorter playlist`(
    index: Int
  ) throws {
    let media = Array("#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(Self.tooLong[index])".utf8)
    #expect(throws: Self.problem) { try HLSMediaPlaylist.read(media, url: HLSPlaylists.url) }
    #expect(HLSMediaPlaylist(media, url: HLSPlaylists.url) == nil)
    let multivariant = Array(
      "#EXTM3U\n\(Self.tooLong[index].replacing("#EXTINF:4,", with: "#EXT-X-STREAM-INF:X=1"))".utf8)
    #expect(throws: Self.problem) {
      try HLSMultivariantPlaylist.read(multivariant, url: HLSPlaylists.url)
    }
    #expect(HLSMultivariantPlaylist(multivariant, url: HLSPlaylists.url) == nil)
    for body in [media, multivariant] {
      var rewriting = ManifestRewriting(
        url: HLSPlaylists.url, clientTarget: "/T/main.m3u8", removesSteering: true,
        target: { "/T" + $0.path() })
      #expect(throws: ManifestRewriting.TooLarge.self) { try rewriting.rewrite(body) }
    }
  }

  @Test func `Long data in a playlist is no reference`() throws {
    let data = "DATA:video/mp2t;base64,\(String(repeating: "A", count: 70_000))"
    let list = Array("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n\(data)\n#EXTINF:4,\nx\n".utf8)
    let playlist = try #require(try HLSMediaPlaylist.read(list, url: HLSPlaylists.url))
    #expect(playlist.segments.map(\.uri) == ["x"])
    var rewriting = ManifestRewriting(
      url: HLSPlaylists.url, clientTarget: "/T/main.m3u8", removesSteering: true,
      target: { _ in nil })
    #expect(try rewriting.rewrite(list)?.isChanged == false)
  }

  @Test func `Repeated substitution has a limit`() {
    let value = String(repeating: "v", count: 60_000)
    let body =
      "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"\(value)\"\n"
      + String(repeating: "{$a}\n", count: 100_000) + "plain.ts\n"
    let found = HLSPlaylists.references(body).references
    let sum = found.reduce(0) { $0 + $1.text.utf8.count }
    #expect(found.count > 100 && found.last?.text == "plain.ts")
    #expect(sum <= HLSReader.mostAdded + body.utf8.count)
  }

  @Test func `Definitions that double a value stay bounded`() {
    var body = "#EXTM3U\n#EXT-X-DEFINE:NAME=\"v0\",VALUE=\"0123456789abcdef\"\n"
    for index in 1...1000 {
      body += "#EXT-X-DEFINE:NAME=\"v\(index)\",VALUE=\"{$v\(index - 1)}{$v\(index - 1)}\"\n"
      if index == 3 { body += "{$v3}\n" }
    }
    let found = HLSPlaylists.references(body + "{$v1000}\n")
    #expect(found.references.first?.text.count == 128)
    let sum = found.variables.values.reduce(0) { $0 + $1.utf8.count }
    #expect(sum <= HLSReader.mostAdded + body.utf8.count)
  }
}
