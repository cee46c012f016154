// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// References of MPDs that stay below their bases, and where they lead.
@Suite struct DASHPlaceTests {
  private static let path = "/one/two/x.mpd"

  /// Returns the rewritten form of an MPD at `https://a.example/one/two/x.mpd`.
  private static func rewritten(_ content: String) throws -> ManifestRewriting.Rewritten {
    let url = try #require(URL(string: "https://a.example\(path)"))
    var rewriting = ManifestRewriting(
      url: url, clientTarget: "/T/https/a.example\(path)", removesSteering: true
    ) { url in
      guard let parts = WebURL(url.absoluteString), parts.authority != "other.example" else {
        return nil
      }
      return "/T/\(parts.scheme)/\(parts.authority)\(parts.requestTarget)"
    }
    let body = Array("<MPD>\(content)</MPD>".utf8)
    return try #require(try rewriting.rewrite(body))
  }

  /// BaseURLs of MPD, AdaptationSet and Representation, and their rewritten forms.
  static let chains: [([String], [String])] = [
    (
      ["https://b.example/v/", "low/", "a.mp4"],
      ["/T/https/b.example/v/", "/T/https/b.example/v/low/", "/T/https/b.example/v/low/a.mp4"]
    ),
    (
      ["https://b.example", "../a.mp4?x=1&amp;y", "?z"],
      [
        "/T/https/b.example/", "/T/https/b.example/a.mp4?x=1&amp;y",
        "/T/https/b.example/a.mp4?z",
      ]
    ),
    (
      ["low/", "https://b.example/v/", "a.mp4"],
      ["low/", "/T/https/b.example/v/", "/T/https/b.example/v/a.mp4"]
    ),
    (
      ["https://b.example/v/", "/w/", "a.mp4"],
      ["/T/https/b.example/v/", "/T/https/b.example/w/", "/T/https/b.example/w/a.mp4"]
    ),
    // The player requests these itself.
    (
      ["https://other.example/v/", "low/", "a.mp4"], ["https://other.example/v/", "low/", "a.mp4"]
    ),
    // No base is absolute.
    (["v/", "../low/", "a.mp4"], ["v/", "../low/", "a.mp4"]),
    (["/v/", "low/", "a.mp4"], ["/T/https/a.example/v/", "low/", "a.mp4"]),
  ]

  @Test(arguments: chains.indices)
  func `A BaseURL below an absolute one is replaced as that is`(index: Int) throws {
    func content(_ bases: [String]) -> String {
      "<BaseURL>\(bases[0])</BaseURL><Period><AdaptationSet><BaseURL>\(bases[1])</BaseURL>"
        + "<SegmentTemplate media=\"$Number$.m4s\"/>"
        + "<Representation id=\"1\"><BaseURL>\(bases[2])</BaseURL></Representation>"
        + "</AdaptationSet></Period>"
    }
    let (bases, expected) = Self.chains[index]
    let text = String(decoding: try Self.rewritten(content(bases)).body, as: UTF8.self)
    #expect(text == "<MPD>\(content(expected))</MPD>")
  }

  @Test func `Below alternatives, and in a document without all bases, a BaseURL stays`() throws {
    let representation =
      "<Period><AdaptationSet><Representation><BaseURL>a.mp4</BaseURL></Representation>"
      + "</AdaptationSet></Period>"
    for bases in [
      "<BaseURL>https://b.example/</BaseURL><BaseURL>https://c.example/</BaseURL>",
      "<BaseURL>https://b.example/</BaseURL><Period xlink:href='p'/>",
    ] {
      let text = String(decoding: try Self.rewritten(bases + representation).body, as: UTF8.self)
      #expect(text.hasSuffix("\(representation)</MPD>"), "\(bases)")
    }
  }

  @Test func `Files that a reference with dot segments names are parts of the stream`() throws {
    let cases = [
      ("<BaseURL>../v/</BaseURL><Period><SegmentTemplate media='$Number$.m4s'/></Period>", "v"),
      ("<Period><SegmentTemplate media='../w/$Number$.m4s'/></Period>", "w"),
      (
        "<BaseURL>v/</BaseURL><Period><SegmentTemplate media='../../w/$Number$.m4s'/></Period>", "w"
      ),
    ]
    for (content, directory) in cases {
      let rewritten = try Self.rewritten(content)
      #expect(!rewritten.isChanged)
      #expect(
        rewritten.parts.directories
          == ["https://a.example/one/two/", "https://a.example/one/\(directory)/"], "\(content)")
    }
  }

  @Test func `Below a base that is longer than any in use, a BaseURL stays`() throws {
    let long = String(repeating: "a/", count: 2000)
    let content =
      "<BaseURL>https://b.example/\(long)</BaseURL><Period><AdaptationSet><Representation>"
      + "<BaseURL>../b</BaseURL></Representation></AdaptationSet></Period>"
    let rewritten = try Self.rewritten(content)
    let text = String(decoding: rewritten.body, as: UTF8.self)
    #expect(text.contains("/T/https/b.example/a/") && text.contains("<BaseURL>../b</BaseURL>"))
  }
}
