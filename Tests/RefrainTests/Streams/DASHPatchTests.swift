// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Documents that change an MPD or complete it: patches, and elements that are elsewhere.
@Suite struct DASHPatchTests {
  private static func references(of text: String) -> [DASHReference]? {
    DASHReferences(of: Array(text.utf8), url: mpdURL)?.references
  }

  /// Operations of a patch, and the references in them.
  static let operations: [(String, [String])] = [
    // Elements within the selected one, or beside it, or in its place.
    ("<add sel='/MPD'><BaseURL>/a/</BaseURL></add>", ["/a/"]),
    ("<add sel='/MPD' pos='prepend'><Location>/l</Location></add>", ["/l"]),
    ("<add sel='/MPD/Period[1]' pos='before'><Period xlink:href='/p'/></add>", ["/p"]),
    ("<add sel='/MPD/Period' pos='after'><BaseURL>/a/</BaseURL></add>", ["/a/"]),
    ("<replace sel='/MPD/PatchLocation[1]'><PatchLocation>/p</PatchLocation></replace>", ["/p"]),
    (
      "<add sel='/MPD/Period/AdaptationSet'><Representation><SegmentList>"
        + "<SegmentURL media='/1'/></SegmentList></Representation></add>",
      ["/1"]
    ),
    (
      "<add sel=\"/MPD/Period[@id='a/b']/AdaptationSet[@id=']']/SegmentList\">"
        + "<SegmentURL media='/1'/><SegmentURL media='/2'/></add>",
      ["/1", "/2"]
    ),
    // Attributes and texts.
    ("<replace sel='/MPD/BaseURL/text()'> /a/ </replace>", ["/a/"]),
    ("<replace sel='/MPD/Period/SegmentTemplate/@media'>/$Time$</replace>", ["/$Time$"]),
    ("<add sel='/MPD/Period/SegmentTemplate' type='@index'>/i&amp;j</add>", ["/i&j"]),
    ("<add sel='/MPD/Period' type='@xlink:href'>/p</add>", ["/p"]),
    // A prefix, as the namespace of MPDs needs in a patch.
    ("<p:add sel='/m:MPD/m:Period'><m:BaseURL>/a/</m:BaseURL></p:add>", ["/a/"]),
    // Nothing that is a reference.
    ("<replace sel='/MPD/@publishTime'>2026-01-01T00:00:00Z</replace>", []),
    ("<remove sel='/MPD/BaseURL'/><add sel='/MPD/Period/SegmentTimeline'><S d='1'/></add>", []),
    ("<add sel='/MPD/Period' type='namespace::x'>/a</add>", []),
    ("<add sel='/MPD/Period/ContentProtection'><BaseURL>/a</BaseURL></add>", []),
    // Selectors that no patch has.
    ("<add><BaseURL>/a</BaseURL></add><add sel=''><BaseURL>/a</BaseURL></add>", []),
    ("<add sel='MPD'><BaseURL>/a</BaseURL></add><add sel='/'>/a</add>", []),
    ("<add sel='/Patch/add'><BaseURL>/a</BaseURL></add>", []),
    ("<add sel='/MPD/Period[\"'><BaseURL>/a</BaseURL></add>", []),
  ]

  @Test(arguments: operations.indices)
  func `The references in a patch are those of the place that it changes`(index: Int) throws {
    let (operation, texts) = Self.operations[index]
    // The operation after it is found too.
    let next = "<add sel='/MPD'><BaseURL>https://b.example/</BaseURL></add>"
    let text = "<?xml version='1.0'?><Patch mpdId='1'>\(operation)\(next)</Patch>"
    let found = try #require(Self.references(of: text))
    #expect(found.map(\.reference.text) == texts + ["https://b.example/"])
    #expect(
      found.map(\.resolved) == texts.map { "https://a.example" + $0 } + ["https://b.example/"])
  }

  @Test func `Relative references of a patch stay`() throws {
    let text = """
      <Patch><add sel='/MPD/Period'><BaseURL>sub/</BaseURL></add>
      <replace sel='/MPD/Period/SegmentTemplate/@media'>a/../$Number$.m4s</replace></Patch>
      """
    let found = try #require(Self.references(of: text))
    #expect(found.count == 2 && found.allSatisfy { $0.resolved == nil })
  }

  /// Documents that replace elements with `xlink:href`, and the references in them.
  static let remotes: [(String, [String])] = [
    ("<Period><BaseURL>/a/</BaseURL></Period>", ["/a/"]),
    (
      "<Period id='1'><BaseURL>/a/</BaseURL></Period>\n<!-- two -->"
        + "<Period id='2'><BaseURL>/b/</BaseURL></Period>",
      ["/a/", "/b/"]
    ),
    (
      "<AdaptationSet><SegmentTemplate media='/$Number$'/><Representation/></AdaptationSet>",
      ["/$Number$"]
    ),
    ("<d:SegmentList xmlns:d='urn:x'><d:SegmentURL media='/1'/></d:SegmentList>", ["/1"]),
    ("<InitializationSet initialization='/i'/>", ["/i"]),
  ]

  @Test(arguments: remotes.indices)
  func `The references of a part of an MPD are found`(index: Int) throws {
    let (text, texts) = Self.remotes[index]
    for start in ["", "<?xml version='1.0' encoding='utf-8'?>\n"] {
      let found = try #require(Self.references(of: start + text))
      #expect(found.map(\.reference.text) == texts)
      #expect(found.map(\.resolved) == texts.map { "https://a.example" + $0 })
    }
  }

  @Test func `Every beginning and any end tag of a patch is read without harm`() throws {
    let text = "<Patch>" + Self.operations.prefix(9).map(\.0).joined() + "</Patch>"
    let bytes = Array(text.utf8)
    for count in bytes.indices { _ = DASHReferences(of: Array(bytes[..<count]), url: mpdURL) }
    for index in bytes.indices where bytes[index] == UInt8(ascii: ">") {
      let more = bytes[...index] + "</x></x>".utf8 + bytes[(index + 1)...]
      _ = DASHReferences(of: Array(more), url: mpdURL)
    }
    let nested = String(repeating: "<add sel='/MPD'>", count: 10_000)
    let found = try #require(Self.references(of: "<Patch>\(nested)"))
    #expect(found.isEmpty)
  }
}
