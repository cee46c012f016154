// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The references of playlists, rewritten for the clients of a proxy.
@Suite struct HLSRewritingTests {
  private static let client = "/T/https/a.example/v/list.m3u8"

  private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  private static func target(_ url: URL) -> String? {
    guard let parts = WebURL(url.absoluteString), parts.authority != "denied.example" else {
      return nil
    }
    return "/T/\(parts.scheme)/\(parts.authority)\(parts.requestTarget)"
  }

  private static func rewrite(
    _ text: String, keepsPaths: Bool, target: @escaping (URL) -> String? = target
  ) throws -> ManifestRewriting.Rewritten? {
    var rewriting = ManifestRewriting(
      url: try url("https://a.example/v/list.m3u8"), clientTarget: client, removesSteering: true,
      keepsPaths: keepsPaths, target: target)
    return try rewriting.rewrite(Array(text.utf8))
  }

  static let cases: [(reference: String, expected: String)] = [
    ("s.ts", "s.ts"), ("b/c/s.ts?x=1", "b/c/s.ts?x=1"), ("../s.ts", "../s.ts"),
    ("../../s.ts", "/T/https/a.example/s.ts"), ("s%20.ts", "s%20.ts"),
    ("/s.ts", "/T/https/a.example/s.ts"), ("/b/s.ts#f", "/T/https/a.example/b/s.ts#f"),
    ("//c.example/s.ts", "/T/https/c.example/s.ts"),
    ("http://c.example:8080/b/s.ts", "/T/http/c.example:8080/b/s.ts"),
    ("HTTPS://c.example/b/s.ts", "/T/https/c.example/b/s.ts"),
    (
      "https://c.example/b/s.ts?a=%2F%3d&b=c:d/e..f",
      "/T/https/c.example/b/s.ts?a=%2F%3d&b=c:d/e..f"
    ),
    ("https://c.example/%C3%A9/s%20.ts", "/T/https/c.example/%C3%A9/s%20.ts"),
    ("https://c.example/é/s .ts", "/T/https/c.example/%C3%A9/s%20.ts"),
    ("https://c.example/b/../s.ts", "/T/https/c.example/s.ts"),
    ("https://c.example", "/T/https/c.example/"),
    ("https://c.example?a=b", "/T/https/c.example/?a=b"),
    ("https://u@c.example/s.ts", "/T/https/c.example/s.ts"),
    ("https://denied.example/s.ts", "https://denied.example/s.ts"),
    ("b%2e%2e/s.ts", "/T/https/a.example/v/b%2e%2e/s.ts"),
    ("b\\s.ts", "/T/https/a.example/v/b%5Cs.ts"),
    ("b/s:1.ts", "b/s:1.ts"), ("2026-11-23T00:00:00.ts", "2026-11-23T00:00:00.ts"),
    ("/s:1.ts", "/T/https/a.example/s:1.ts"),
    ("https://c.example/s:1/2:3.ts", "/T/https/c.example/s:1/2:3.ts"),
    // Browsers take these for relative references, or find another host in them.
    ("http:../../../http/127.0.0.1/s.ts", "about:invalid"), ("HTTP:s.ts", "about:invalid"),
    ("https:/s.ts", "about:invalid"), ("http:\\\\c.example\\s.ts", "about:invalid"),
    ("https:///c.example/s.ts", "about:invalid"), ("///c.example/s.ts", "about:invalid"),
    ("http://?s.ts", "about:invalid"), ("//", "about:invalid"),
    ("httpx:s.ts", "httpx:s.ts"), ("http/s.ts", "http/s.ts"), ("http", "http"),
    ("data:,%2e", "data:,%2e"), ("{$space}../s.ts", "/T/https/a.example/v/%20../s.ts"),
    ("s:1.ts", "s:1.ts"), ("data:,x", "data:,x"), ("skd://key", "skd://key"),
    ("{$host}/s.ts", "/T/https/v.example/d/s.ts"), ("x{$none}.ts", "x{$none}.ts"),
  ]

  @Test(arguments: cases.indices)
  func `A reference leads through the proxy if the client would not find it there`(
    index: Int
  ) throws {
    let (reference, expected) = Self.cases[index]
    let head =
      "#EXTM3U\n#EXT-X-DEFINE:NAME=\"host\",VALUE=\"https://v.example/d\"\n"
      + "#EXT-X-DEFINE:NAME=\"space\",VALUE=\" \"\n"
    for keepsPaths in [true, false] {
      // Twice: a decision is used again.
      let list = { (text: String) in "\(head)#EXT-X-MAP:URI=\"\(text)\"\n#EXTINF:1,\n\(text)\n" }
      let rewritten = try #require(try Self.rewrite(list(reference), keepsPaths: keepsPaths))
      #expect(String(decoding: rewritten.body, as: UTF8.self) == list(expected))
      #expect(rewritten.isChanged == (reference != expected))
    }
  }

  static let grains = [
    "https://", "http://", "http:", "//", "/", "a", "seg.ts", ".", "..", "?", "#", ":", "%20",
    "%2e", "%2F",
    "%", "%5C", "\\", "é", " ", "\t", "{$v}", "{$none}", "{", "c.example", "a.example",
    "denied.example", "[::1]", "@", ":8080", "=", "&", "'", "b/c/", "data:", "~", "|", "[", "T",
  ]
  static let beginnings = ["", "", "/", "//", "../", "https://", "https://c.example/b/d/"]

  @Test func `Decisions for a host and for each directory are the same`() throws {
    let seed = TestSeed.next()
    print("HLSRewritingTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<(TestSeed.isSoak ? 20_000 : 200) {
      var text = "#EXTM3U\n#EXT-X-DEFINE:NAME=\"v\",VALUE=\"https://v.example/d\"\n"
      for _ in 0..<4 {
        text += "#EXTINF:1,\n" + (Self.beginnings.randomElement(using: &generator) ?? "")
        for _ in 0..<Int.random(in: 1...5, using: &generator) {
          text += Self.grains.randomElement(using: &generator) ?? ""
        }
        text += "\n"
      }
      let host = try #require(try Self.rewrite(text, keepsPaths: true))
      let directory = try #require(try Self.rewrite(text, keepsPaths: false))
      #expect(host.body == directory.body, "seed \(seed): \(text)")
      #expect(host.parts.roles == directory.parts.roles, "seed \(seed): \(text)")
    }
  }

  @Test func `A host is decided once for all its directories`() throws {
    var asked: [String] = []
    let lines = (0..<50).map { "#EXTINF:1,\nhttps://c.example/\($0)/s\($0).ts?e=%2F\($0)\n" }
    let rewritten = try #require(
      try Self.rewrite("#EXTM3U\n" + lines.joined(), keepsPaths: true) { url in
        asked.append(url.absoluteString)
        return Self.target(url)
      })
    #expect(asked.count == 1 && rewritten.parts.roles.count == 50)
  }

  @Test(arguments: ["", "b/", "https://c.example/", "/"])
  func `Names of times are decided once`(_ beginning: String) throws {
    var asked: [String] = []
    let lines = (10..<60).map { "#EXTINF:1,\n\(beginning)2026-11-23T00:00:\($0).ts\n" }
    let rewritten = try #require(
      try Self.rewrite("#EXTM3U\n" + lines.joined(), keepsPaths: true) { url in
        asked.append(url.absoluteString)
        return Self.target(url)
      })
    #expect(asked.count == 1 && rewritten.parts.roles.count == 50)
  }

  /// Returns the rewriting of a manifest that has taken all its time but for `/`, `../` and `./`.
  private static func exhausted(at manifest: String) throws -> ReferenceRewriting {
    var references = ReferenceRewriting(
      url: try url(manifest), clientTarget: client, keepsPaths: true, mostDecisions: 3,
      target: target)
    for text in ["/a.ts", "../a.ts", "./a.ts"] {
      #expect(references.outcome(of: Array(text.utf8)[...]) != nil)
    }
    return references
  }

  @Test func `After too many decisions, references stay only if they need not change`() throws {
    var references = try Self.exhausted(at: "https://a.example/v/list.m3u8")
    func outcome(_ text: String) -> ReferenceRewriting.Outcome? {
      references.outcome(of: Array(text.utf8)[...])
    }
    #expect(outcome("/b.ts")?.replacement != nil)
    for text in ["#", "b/c.ts", "b//c.ts", "é.ts", ".b", "skd://key", "data:,x"] {
      let outcome = outcome(text)
      #expect(outcome != nil && outcome?.replacement == nil, "\(text)")
    }
    for text in [
      "../b/../c.ts", "/b//c.ts", "//c.example/b", "HTTPS://c.example", "b/%2e%2e/c", "b\\c",
    ] {
      #expect(outcome(text) == nil, "\(text)")
    }
    // The client requested another URL, below which no name leads to the right place.
    var redirected = try Self.exhausted(at: "https://a.example/other/list.m3u8")
    #expect(redirected.outcome(of: Array("b/c.ts".utf8)[...]) == nil)
  }

  @Test func `A manifest that would grow too long is refused`() throws {
    let list = { "#EXTM3U\n" + String(repeating: "#EXTINF:1,\n/s.ts\n", count: $0) }
    let long = "/" + String(repeating: "x", count: 1 << 20)
    let target: (URL) -> String? = { long + ($0.path()) }
    #expect(try Self.rewrite(list(16), keepsPaths: true, target: target) != nil)
    #expect(throws: ManifestRewriting.TooLarge.self) {
      try Self.rewrite(list(33), keepsPaths: true, target: target)
    }
  }
}
