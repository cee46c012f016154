// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The references that an MPD contains, wherever they stand and however they are written.
@Suite struct DASHReferencesTests {
  /// The content of a Representation, and the only reference in it.
  static let elements: [(String, ManifestReference.Kind, String)] = [
    ("<BaseURL>a.mp4</BaseURL>", .base, "a.mp4"),
    ("<BaseURL serviceLocation='x' byteRange=\"0-1\">\n a.mp4\t</BaseURL >", .base, "a.mp4"),
    ("<SegmentTemplate media=\"$Number%05d$.m4s\"/>", .template, "$Number%05d$.m4s"),
    ("<SegmentTemplate startNumber='1' index='$Time$.idx'/>", .template, "$Time$.idx"),
    ("<SegmentTemplate initialization='i-$Bandwidth$'/>", .template, "i-$Bandwidth$"),
    ("<SegmentTemplate bitstreamSwitching='s$$'/>", .template, "s$$"),
    ("<SegmentList><SegmentURL media='1.m4s'/></SegmentList>", .segment, "1.m4s"),
    ("<SegmentList><SegmentURL index='1.idx'></SegmentURL></SegmentList>", .segment, "1.idx"),
    ("<SegmentBase><Initialization sourceURL='i'/></SegmentBase>", .initialization, "i"),
    ("<SegmentBase><RepresentationIndex sourceURL='x'/></SegmentBase>", .initialization, "x"),
    (
      "<SegmentTemplate><BitstreamSwitching sourceURL='b'/></SegmentTemplate>", .initialization,
      "b"
    ),
    ("<SegmentList xlink:href='https://a.example/list'/>", .location, "https://a.example/list"),
  ]

  @Test(arguments: elements.indices)
  func `Every element and attribute with a reference is found`(index: Int) throws {
    let (content, kind, text) = Self.elements[index]
    let body = mpd(ofRepresentation: content)
    let found = try #require(DASHReferences(of: body, url: mpdURL)).references.map(\.reference)
    #expect(found.map(\.kind) == [kind] && found.map(\.text) == [text])
    let reference = try #require(found.first)
    #expect(String(decoding: body[reference.range], as: UTF8.self) == text)
  }

  /// Contents of an MPD, and the texts of the references in them.
  static let documents: [(String, [String])] = [
    ("<Location>a.mpd</Location><PatchLocation ttl='9'> b.mpp </PatchLocation>", ["a.mpd"]),
    ("<BaseURL>a</BaseURL><BaseURL>b</BaseURL>", ["a", "b"]),
    ("<BaseURL/><BaseURL></BaseURL><BaseURL> \n</BaseURL>", []),
    ("<InitializationSet id='1' initialization='i.mp4'/>", ["i.mp4"]),
    // Character references.
    ("<BaseURL>a?b=1&amp;c=2</BaseURL>", ["a?b=1&c=2"]),
    ("<BaseURL>a&#38;b&#x26;c&#x000026;d&lt;&gt;&quot;&apos;</BaseURL>", ["a&b&c&d<>\"'"]),
    ("<BaseURL>&#252;&#xFC;&#128512;</BaseURL>", ["üü😀"]),
    ("<BaseURL>a&nbsp;b&;c&d</BaseURL>", ["a&nbsp;b&;c&d"]),
    (
      "<BaseURL>&#0;&#xD800;&#x110000;&#;&#x;&#99999999999999999999;&#38</BaseURL>",
      ["&#0;&#xD800;&#x110000;&#;&#x;&#99999999999999999999;&#38"]
    ),
    ("<Period xlink:href='a?b&amp;c'/>", ["a?b&c"]),
    // CDATA, comments and processing instructions.
    ("<BaseURL><![CDATA[a?b&c]]></BaseURL>", ["a?b&c"]),
    ("<BaseURL>\n <![CDATA[ a?b&amp;c ]]>\n</BaseURL>", ["a?b&amp;c"]),
    ("<BaseURL>https://<![CDATA[a&b]]>/c&amp;<!-- d -->e</BaseURL>", ["https://a&b/c&e"]),
    ("<!-- <BaseURL>a</BaseURL> --><BaseURL>b</BaseURL><!---->", ["b"]),
    ("<!--> <BaseURL>a</BaseURL> --><BaseURL>b</BaseURL>", ["b"]),
    ("<![CDATA[<BaseURL>a</BaseURL>]]><BaseURL>b</BaseURL>", ["b"]),
    ("<?php <BaseURL>a</BaseURL> ?><BaseURL>b</BaseURL>", ["b"]),
    ("<BaseURL>a<Other/>b</BaseURL><BaseURL>c</BaseURL>", ["c"]),
    // Attributes.
    ("<Period xlink:href = \"a\"\n/>", ["a"]), ("<Period id='>' xlink:href='a>b'/>", ["a>b"]),
    ("<Period id=\"'\" xlink:href='a\"b'/>", ["a\"b"]), ("<Period xlink:href='  '/>", []),
    ("<Period xlink:href='urn:mpeg:dash:resolve-to-zero:2013'/>", []),
    ("<Period xlinkhref='a' href='b' x:xlink:href='c' xlink:hrefs='d'/>", []),
    ("<Period xmlns:l='http://www.w3.org/1999/xlink' l:href='a'/>", ["a"]),
    ("<Period l:href='a' xmlns:l='http://www.w3.org/1999/xlink'/>", ["a"]),
    ("<Period xmlns:l='http://other.example' l:href='a'/>", []),
    ("<Period x y=z ='' xlink:href='a'/>", ["a"]),
    // Elements with prefixes.
    ("<mpd:BaseURL>a</mpd:BaseURL><mpd:Location>b</mpd:Location>", ["a", "b"]),
    // Resources that the cache leaves alone, and other vocabularies.
    ("<UTCTiming schemeIdUri='urn:mpeg:dash:utc:http-iso:2014' value='https://a/'/>", []),
    ("<ContentSteering defaultServiceLocation='a'>https://a/steer</ContentSteering>", []),
    (
      "<Period><AdaptationSet><ContentProtection xlink:href='a'>"
        + "<dashif:laurl>https://a/</dashif:laurl>"
        + "<BaseURL>b</BaseURL></ContentProtection></AdaptationSet></Period>",
      []
    ),
    (
      "<Period><EventStream><Event><MPD><BaseURL>a</BaseURL></MPD></Event></EventStream></Period>",
      []
    ),
    ("<Other><BaseURL>a</BaseURL><Location>b</Location></Other>", []),
    ("<baseurl>a</baseurl><BaseURLs>b</BaseURLs>", []),
    ("<Period><AdaptationSet bitstreamSwitching='true' media='a'/></Period>", []),
    // Text with brackets that enclose nothing.
    ("a < b << 3 <> <BaseURL>a</BaseURL>", ["a"]),
  ]

  @Test(arguments: documents.indices)
  func `References are read as an XML parser reads them`(index: Int) throws {
    let (content, texts) = Self.documents[index]
    for start in ["", "\u{FEFF}", "<?xml version='1.0' encoding='UTF-8'?>\n<!-- <MPD> -->\n"] {
      let body = Array("\(start)<MPD type='static'>\(content)</MPD>\n".utf8)
      let found = try #require(DASHReferences(of: body, url: mpdURL), "\(content)")
      #expect(found.references.map(\.reference.text) == texts, "\(content)")
    }
  }

  @Test func `A replacement of a reference is correct wherever it stands`() throws {
    let text = "https://b.example/a?x=1&y=<'\">\t]]>&amp;"
    for (content, texts) in Self.documents {
      let body = Array("<MPD>\(content)</MPD>".utf8)
      var edits = ByteEdits()
      var same = ByteEdits()
      for found in try #require(DASHReferences(of: body, url: mpdURL)).references {
        edits.replace(found.reference.range, with: DASHReferences.escaped(text))
        same.replace(found.reference.range, with: Array(body[found.reference.range]))
      }
      #expect(same.applied(to: body) == body)
      let edited = try #require(DASHReferences(of: edits.applied(to: body), url: mpdURL))
      #expect(edited.references.map(\.reference.text) == texts.map { _ in text }, "\(content)")
    }
  }

  @Test func `The text of each reference can be written again`() throws {
    let body = Array(richMPD.utf8)
    var edits = ByteEdits()
    let found = try #require(DASHReferences(of: body, url: mpdURL)).references
    #expect(found.count == 19)
    for found in found {
      edits.replace(found.reference.range, with: DASHReferences.escaped(found.reference.text))
    }
    let again = try #require(DASHReferences(of: edits.applied(to: body), url: mpdURL)).references
    #expect(again.map(\.reference.text) == found.map(\.reference.text))
    #expect(again.map(\.resolved) == found.map(\.resolved))
  }

  @Test func `References are in the order of the body and do not overlap`() throws {
    let found = try #require(DASHReferences(of: Array(richMPD.utf8), url: mpdURL)).references
    let ranges = found.map(\.reference.range)
    #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
  }

  @Test(arguments: [
    "", " ", "MPD", "#EXTM3U\n", "<", "<MPDX><BaseURL>a</BaseURL></MPDX>", "<html><MPD/></html>",
    "text <MPD/>", "</MPD>", "<![CDATA[a]]><MPD/>", "<?xml version='1.0'?>", "<!-- <MPD/> -->",
    "<MPD", "<MPD a='", "<Representation/>", "\u{FEFF}\u{FEFF}<MPD/>",
  ])
  func `A body that is no MPD is refused`(text: String) {
    #expect(DASHReferences(of: Array(text.utf8), url: mpdURL) == nil)
  }

  @Test func `A body in UTF-16 is refused`() throws {
    let body = try #require("<MPD><BaseURL>a</BaseURL></MPD>".data(using: .utf16))
    #expect(DASHReferences(of: Array(body), url: mpdURL) == nil)
  }

  @Test func `A reference that is not in UTF-8 is left out`() throws {
    var body = Array("<MPD><BaseURL>caf?</BaseURL><BaseURL>a</BaseURL></MPD>".utf8)
    let mark = try #require(body.firstIndex(of: UInt8(ascii: "?")))
    body[mark] = 0xE9
    let found = try #require(DASHReferences(of: body, url: mpdURL))
    #expect(found.references.map(\.reference.text) == ["a"])
  }
}
