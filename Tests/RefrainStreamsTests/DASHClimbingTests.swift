// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainStreams

/// References of MPDs that clients could resolve above the root of their host: below a proxy's
/// prefix they would name another host, and the proxy would fetch from it.
@Suite struct DASHClimbingTests {
  /// A reference that names another host stays, and leads clients past the proxy.
  private static func target(_ url: URL) -> String? {
    guard let parts = WebURL(url.absoluteString), parts.authority == "a.example" else { return nil }
    return "/T/\(parts.scheme)/\(parts.authority)\(parts.requestTarget)"
  }

  private static func rewritten(
    _ text: String, at path: String = "/one/two/x.mpd"
  ) throws -> String {
    let url = try #require(URL(string: "https://a.example\(path)"))
    var rewriting = ManifestRewriting(
      url: url, clientTarget: "/T/https/a.example\(path)", removesSteering: true, target: target)
    let rewritten = try #require(try rewriting.rewrite(Array(text.utf8)))
    return String(decoding: rewritten.body, as: UTF8.self)
  }

  static func document(_ content: String) -> String { "<MPD>\(content)</MPD>" }

  static func adaptationSet(_ content: String) -> String {
    document("<Period><AdaptationSet>\(content)</AdaptationSet></Period>")
  }

  /// Documents, and their rewritten forms.
  static let cases: [(String, String)] = [
    // An id is a name in the template, and must not be anything else.
    (
      adaptationSet(
        "<SegmentTemplate media='$RepresentationID$/x'/>"
          + "<Representation id='../../../http/127.0.0.1:8080' bandwidth='1'/>"),
      adaptationSet(
        "<SegmentTemplate media='$RepresentationID$/x'/>"
          + "<Representation id='.._.._.._http_127.0.0.1_8080' bandwidth='1'/>")
    ),
    (
      adaptationSet("<Representation id='.' bandwidth='../../../http/127.0.0.1'/>"),
      adaptationSet("<Representation id='_' bandwidth='.._.._.._http_127.0.0.1'/>")
    ),
    (
      adaptationSet(
        "<SegmentTemplate media='$Time$' startNumber='../..'><SegmentTimeline>"
          + "<S t='&#46;./' d='1'/></SegmentTimeline></SegmentTemplate>"),
      adaptationSet(
        "<SegmentTemplate media='$Time$' startNumber='.._..'><SegmentTimeline>"
          + "<S t='.._' d='1'/></SegmentTimeline></SegmentTemplate>")
    ),
    // Any of several bases.
    (
      document(
        "<BaseURL>a/b/c/d/</BaseURL><BaseURL>./</BaseURL>"
          + "<Period><SegmentTemplate media='../../../http/127.0.0.1/x'/></Period>"),
      document(
        "<BaseURL>a/b/c/d/</BaseURL><BaseURL>./</BaseURL>"
          + "<Period><SegmentTemplate media='about:invalid'/></Period>")
    ),
    // Any of several Representations.
    (
      adaptationSet(
        "<SegmentTemplate media='../../../http/127.0.0.1/x'/><Representation>"
          + "<BaseURL>a/b/</BaseURL></Representation><Representation/>"),
      adaptationSet(
        "<SegmentTemplate media='about:invalid'/><Representation>"
          + "<BaseURL>a/b/</BaseURL></Representation><Representation/>")
    ),
    // Names that a value completes.
    (
      adaptationSet("<SegmentTemplate media='$RepresentationID$../x' index='a/.$Number$.?b'/>"),
      adaptationSet("<SegmentTemplate media='about:invalid' index='about:invalid'/>")
    ),
    (
      adaptationSet("<SegmentTemplate media='$RepresentationID$:../x' index='%2$Number$/x'/>"),
      adaptationSet("<SegmentTemplate media='about:invalid' index='about:invalid'/>")
    ),
    // Browsers find no host in these.
    (
      document("<BaseURL>http:../../../http/127.0.0.1/</BaseURL>"),
      document("<BaseURL>about:invalid</BaseURL>")
    ),
    (
      document("<BaseURL>HTTPS:\\..\\x</BaseURL><Location>///b.example/</Location>"),
      document("<BaseURL>about:invalid</BaseURL><Location>about:invalid</Location>")
    ),
    // Nothing resolves against a name, and nobody knows what clients do.
    (
      document("<BaseURL>urn:a/b/c</BaseURL><Period><SegmentTemplate media='../x'/></Period>"),
      document(
        "<BaseURL>urn:a/b/c</BaseURL><Period><SegmentTemplate media='about:invalid'/></Period>")
    ),
    // The document does not contain all bases.
    (
      document(
        "<Period xlink:href='p'/><Period><BaseURL>a/b/</BaseURL>"
          + "<SegmentTemplate media='../../../x' index='../x'/></Period>"),
      document(
        "<Period xlink:href='p'/><Period><BaseURL>a/b/</BaseURL>"
          + "<SegmentTemplate media='about:invalid' index='../x'/></Period>")
    ),
    (
      "<AdaptationSet><SegmentTemplate media='../x'/></AdaptationSet>",
      "<AdaptationSet><SegmentTemplate media='/T/https/a.example/one/x'/></AdaptationSet>"
    ),
  ]

  @Test(arguments: cases.indices)
  func `A reference that may climb out of its host is replaced`(index: Int) throws {
    let (text, expected) = Self.cases[index]
    #expect(try Self.rewritten(text) == expected)
  }

  /// Documents, and what is left of them.
  static let patched: [(String, String)] = [
    (
      document("<PatchLocation ttl='9'>/p</PatchLocation><Location>l</Location>"),
      document("<Location>l</Location>")
    ),
    (
      document("<PatchLocation>a</PatchLocation>\n<d:PatchLocation/><Period/>"),
      document("\n<Period/>")
    ),
    // Whatever is within one.
    (
      document(
        "<PatchLocation xlink:href='https://a.example/p'><BaseURL>/a</BaseURL>"
          + "<PatchLocation>b</PatchLocation><c xlink:href='/c'/></PatchLocation><Period/>"),
      document("<Period/>")
    ),
    // One that does not end.
    ("<MPD><Period/><PatchLocation>https://b.example/p", "<MPD><Period/>"),
    // Elements that are none.
    (
      document("<!-- <PatchLocation>a</PatchLocation> --><Period><PatchLocation/></Period>"),
      document("<!-- <PatchLocation>a</PatchLocation> --><Period><PatchLocation/></Period>")
    ),
  ]

  @Test(arguments: patched.indices)
  func `A PatchLocation is removed, since references in patches are not rewritten`(
    index: Int
  ) throws {
    let (text, expected) = Self.patched[index]
    #expect(try Self.rewritten(text) == expected)
  }

  @Test(arguments: [
    adaptationSet(
      "<SegmentTemplate media='$RepresentationID$/../$Number%05d$.m4s' initialization='../i'/>"
        + "<Representation id='video/avc1/1' bandwidth='1'/><Representation id='a..b:c%20 d'/>"),
    adaptationSet("<SegmentTemplate media='.$RepresentationID$.mp4' index='s:$Time$'/>"),
    document(
      "<BaseURL>a/</BaseURL><BaseURL>b/c/</BaseURL>"
        + "<Period><SegmentTemplate media='../../../x?a=..'/></Period>"),
    adaptationSet("<Representation id=''/><Representation id='...a'/>"),
  ])
  func `A manifest without such references stays`(text: String) throws {
    #expect(try Self.rewritten(text) == text)
  }

  /// Chooses bases and values as any client may, and resolves what the rewritten manifest names.
  @Test func `No choice of bases and values leads to another host`() throws {
    let seed = TestSeed.next()
    print("DASHClimbingTests: REFRAIN_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let pieces = [
      "a/", "b", "../", "..", "./", ".", "/", "http/127.0.0.1/", "$RepresentationID$", "$Number$",
      "?", "127.0.0.1/",
    ]
    func text(_ count: ClosedRange<Int>) -> String {
      let text = (0..<Int.random(in: count, using: &random)).map { _ in
        pieces.randomElement(using: &random) ?? ""
      }.joined()
      // A host that is named may be another one.
      return text.hasPrefix("//") ? "/" + text.drop { $0 == "/" } : text
    }
    func plain() -> String {
      let text = text(0...4).filter { $0 != "$" && $0 != "?" }
      return text.hasPrefix("//") ? "/" + text.drop { $0 == "/" } : text
    }
    for _ in 0..<(TestSeed.isSoak ? 50_000 : 3000) {
      let bases = (0..<4).map { _ in plain() }
      let ids = (0..<2).map { _ in plain() }
      let body =
        "<MPD><BaseURL>\(bases[0])</BaseURL><BaseURL>\(bases[1])</BaseURL><Period><AdaptationSet>"
        + "<SegmentTemplate media='\(text(1...7))'/>"
        + "<Representation id='\(ids[0])'><BaseURL>\(bases[2])</BaseURL></Representation>"
        + "<Representation id='\(ids[1])'><BaseURL>\(bases[3])</BaseURL></Representation>"
        + "</AdaptationSet></Period></MPD>"
      let path = ["/x.mpd", "/one/x.mpd", "/one/two/x.mpd"].randomElement(using: &random) ?? "/"
      let result = try Self.rewritten(body, at: path)
      let served = Self.values(in: result, between: "<BaseURL>", "</BaseURL>")
      let names = Self.values(in: result, between: "id='", "'")
      let media = Self.values(in: result, between: "media='", "'")
      try #require(served.count == 4 && names.count == 2 && media.count == 1)
      for first in served[..<2] {
        for (id, second) in zip(names, served[2...]) {
          let reference = media[0].replacing("$RepresentationID$", with: id)
            .replacing("$Number$", with: "1")
          var url = URIReference("http://proxy/T/https/a.example\(path)")
          for step in [first, second, reference] { url = URIReference(step).resolved(against: url) }
          guard url.scheme == "http", url.authority == "proxy", url.path.hasPrefix("/T/") else {
            continue
          }
          #expect(
            url.path.hasPrefix("/T/https/a.example/"), "seed \(seed): \(body) at \(path): \(result)"
          )
        }
      }
    }
  }

  private static func values(
    in text: String, between start: String, _ end: String
  ) -> [String] {
    text.split(separator: start, omittingEmptySubsequences: false).dropFirst().map { rest in
      String(rest[..<(rest.firstRange(of: end)?.lowerBound ?? rest.endIndex)])
    }
  }
}
