// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The absolute URLs of references that leave the directory of the MPD.
@Suite struct DASHBaseTests {
  /// A reference, and its absolute form below https://a.example/one/two/x.mpd?key=1.
  static let references: [(String, String?)] = [
    ("a.mp4", nil), ("a/b/", nil), ("./a", nil), ("?a=/b", nil), ("../a", nil), ("../../a", nil),
    ("b/../../../a", nil), (".../a", nil), ("a//../../../b", nil), ("a?b=../../../..", nil),
    ("/a", "https://a.example/a"), ("/", "https://a.example/"),
    ("/a/../b?c=../d", "https://a.example/b?c=../d"),
    ("../../../a", "https://a.example/a"), ("../../..", "https://a.example/"),
    ("b/../../../../a/./c", "https://a.example/a/c"), (".././../../a", "https://a.example/a"),
    ("../../../b/../../a?x", "https://a.example/a?x"),
    ("//b.example/a", "https://b.example/a"), ("//b.example", "https://b.example/"),
    ("http://b.example/a", "http://b.example/a"), ("HTTP://B.example", "HTTP://B.example/"),
    ("https://b.example?a", "https://b.example/?a"),
    ("https://b.example/../../a", "https://b.example/a"),
    ("https://u:p@b.example:80/a%2Fb#c", "https://u:p@b.example:80/a%2Fb"),
    (
      "/$RepresentationID$/$Number%05d$.m4s",
      "https://a.example/$RepresentationID$/$Number%05d$.m4s"
    ),
    ("https://b.example/$Time$?b=$Bandwidth$", "https://b.example/$Time$?b=$Bandwidth$"),
    ("/a b%zz\u{FC}", "https://a.example/a b%zz\u{FC}"),
    ("//../a", nil), ("//./", nil), ("///a", nil), ("https://../a", nil), ("https:///a", nil),
    ("data:video/mp4;base64,AA==", "data:video/mp4;base64,AA=="), ("urn:a:b", "urn:a:b"),
  ]

  @Test(arguments: references.indices)
  func `A reference is resolved only if it leaves its base`(index: Int) throws {
    let (text, resolved) = Self.references[index]
    let escaped = DASHReferences.escaped(text)
    for content in [
      "<BaseURL>\(escaped)</BaseURL>", "<Location>\(escaped)</Location>",
      "<Period><AdaptationSet><Representation><SegmentTemplate media=\"\(escaped)\"/>"
        + "</Representation></AdaptationSet></Period>",
    ] {
      let found = try #require(DASHReferences(of: Array("<MPD>\(content)</MPD>".utf8), url: mpdURL))
      #expect(found.references.map(\.resolved) == [resolved], "\(content)")
    }
  }

  /// References of a document that does not contain all bases: one that climbs leaves.
  static let uncertain: [(String, String?)] = [
    ("a", nil), ("a/../b", nil), ("/a", "https://a.example/a"),
    ("//b.example/a", "https://b.example/a"),
    ("../a?b", "https://a.example/one/a?b"), ("a/../../b", "https://a.example/one/b"),
    ("../../../a", "https://a.example/a"),
  ]

  @Test(arguments: uncertain.indices)
  func `A document without all bases replaces references that climb above its own`(index: Int)
    throws
  {
    let (text, resolved) = Self.uncertain[index]
    for body in [
      "<MPD><Period xlink:href='\(text)'/></MPD>",
      "<Period><BaseURL>\(text)</BaseURL></Period>",
    ] {
      let found = try #require(DASHReferences(of: Array(body.utf8), url: mpdURL))
      #expect(found.references.last?.resolved == resolved, "\(body)")
      #expect(found.references.allSatisfy { !$0.isUnsafe }, "\(body)")
    }
  }

  /// Contents of an MPD, and the absolute forms of its references.
  static let chains: [(String, [String?])] = [
    // Each level.
    (
      "<BaseURL>https://b.example/m/</BaseURL><Period><BaseURL>/p/</BaseURL><AdaptationSet>"
        + "<BaseURL>//c.example/s/</BaseURL><Representation><BaseURL>/r/</BaseURL>"
        + "<SegmentTemplate media='/x' initialization='x'/></Representation></AdaptationSet>"
        + "</Period>",
      [
        "https://b.example/m/", "https://b.example/p/", "https://c.example/s/",
        "https://c.example/r/", "https://c.example/x", nil,
      ]
    ),
    // A level ends with its element.
    (
      "<Period><BaseURL>https://b.example/</BaseURL></Period><Period>"
        + "<SegmentTemplate media='/x'/></Period>",
      ["https://b.example/", "https://a.example/x"]
    ),
    // The first of several.
    (
      "<BaseURL>https://b.example/</BaseURL><BaseURL>https://c.example/</BaseURL>"
        + "<Period><SegmentTemplate media='/x'/></Period>",
      ["https://b.example/", "https://c.example/", "https://b.example/x"]
    ),
    (
      "<BaseURL/><BaseURL>https://c.example/</BaseURL>"
        + "<Period><SegmentTemplate media='/x'/></Period>",
      ["https://c.example/", "https://a.example/x"]
    ),
    // A base that follows its references.
    (
      "<Period><SegmentTemplate media='/x'/><BaseURL>https://b.example/</BaseURL></Period>",
      ["https://b.example/x", "https://b.example/"]
    ),
    // Depths.
    (
      "<BaseURL>https://b.example/</BaseURL><Period><SegmentTemplate media='../x'/></Period>",
      ["https://b.example/", "https://b.example/x"]
    ),
    (
      "<BaseURL>three/</BaseURL><Period><SegmentTemplate media='../../../x'/></Period>", [nil, nil]
    ),
    (
      "<BaseURL>three</BaseURL><Period><SegmentTemplate media='../../../x'/></Period>",
      [nil, "https://a.example/x"]
    ),
    (
      "<BaseURL>..</BaseURL><Period><SegmentTemplate media='../../x'/></Period>",
      [nil, "https://a.example/x"]
    ),
    // A list or a template for Representations has their base.
    (
      "<Period><SegmentTemplate index='/i'/><AdaptationSet><SegmentTemplate media='/x'/>"
        + "<Representation><BaseURL>https://b.example/</BaseURL></Representation>"
        + "<Representation><BaseURL>https://c.example/</BaseURL></Representation>"
        + "</AdaptationSet></Period>",
      ["https://b.example/i", "https://b.example/x", "https://b.example/", "https://c.example/"]
    ),
    (
      "<Period><AdaptationSet><BaseURL>https://b.example/</BaseURL><SegmentList>"
        + "<Initialization sourceURL='/i'/><SegmentURL media='/1'/></SegmentList>"
        + "</AdaptationSet><AdaptationSet><SegmentTemplate media='/x'/></AdaptationSet></Period>",
      ["https://b.example/", "https://b.example/i", "https://b.example/1", "https://a.example/x"]
    ),
    // Links have the base of the enclosing level, locations that of the document.
    (
      "<BaseURL>https://b.example/</BaseURL><Location>/l</Location>"
        + "<Period xlink:href='/p'><BaseURL>https://c.example/</BaseURL></Period>",
      ["https://b.example/", "https://a.example/l", "https://b.example/p", "https://c.example/"]
    ),
    // Nothing resolves against a name.
    (
      "<BaseURL>urn:a</BaseURL><Period>"
        + "<SegmentTemplate media='/x' index='//c.example/x'/></Period>",
      ["urn:a", nil, nil]
    ),
  ]

  @Test(arguments: chains.indices)
  func `A reference has the base of its level`(index: Int) throws {
    let (content, resolved) = Self.chains[index]
    let found = try #require(DASHReferences(of: Array("<MPD>\(content)</MPD>".utf8), url: mpdURL))
    #expect(found.references.map(\.resolved) == resolved, "\(content)")
  }

  /// The rule that makes a cached manifest correct: each reference, replaced or not, has the same
  /// target below the prefix as at the origin.
  @Test func `A rewritten manifest names the resources of the original`() throws {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    let pieces = ["a", "b/", "../", "..", "./", "/", "//c.example/", "https://d.example/", "?q"]
    func text() -> String {
      (0..<Int.random(in: 1...4, using: &random)).map { _ in
        pieces.randomElement(using: &random) ?? ""
      }.joined()
    }
    for _ in 0..<4000 {
      let origin =
        "https://a.example/\(["", "one/", "one/two/"].randomElement(using: &random) ?? "")x"
      let texts = (0..<4).map { _ in text() }
      let content = zip(["MPD", "Period", "AdaptationSet", "Representation"], texts)
        .map { "<\($0)><BaseURL>\($1)</BaseURL>" }.joined()
      let url = try #require(URL(string: origin))
      let found = try #require(DASHReferences(of: Array(content.utf8), url: url)).references
      #expect(found.map(\.reference.text) == texts)
      var original = URIReference(origin)
      var served = URIReference(prefixed(origin))
      for found in found {
        original = URIReference(found.reference.text).resolved(against: original)
        // No client reaches such a host.
        if ["", ".", "..", nil].contains(original.authority) { break }
        let written = found.resolved.map(prefixed) ?? found.reference.text
        served = URIReference(written).resolved(against: served)
        // A path without a directory is the root's (RFC 3986 §6.2.3).
        var target = original
        if target.path.isEmpty { target.path = "/" }
        #expect(
          served.textWithoutFragment == prefixed(target.textWithoutFragment),
          "seed \(seed): \(texts) at \(origin)")
      }
    }
  }

  /// The URL of a proxy for a URL.
  private func prefixed(_ text: String) -> String {
    let parts = URIReference(text)
    let query = parts.query.map { "?" + $0 } ?? ""
    return "http://proxy/token/\(parts.scheme ?? "")/\(parts.authority ?? "")\(parts.path)\(query)"
  }
}
