// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The attribute lists of tags.
@Suite struct HLSAttributesTests {
  /// `name|value` of each attribute, with quotes where the body has them.
  static let lists: [(String, [String])] = [
    ("A=1,B=\"2\"", ["A|1", "B|\"2\""]),
    ("A=\"1,B=2\",C=3", ["A|\"1,B=2\"", "C|3"]),
    (" A=1, B=\"2\" ,\tC = 3 ", ["A|1", "B|\"2\"", "C|3"]),
    ("A=1=2,B==3", ["A|1=2", "B|=3"]),
    ("A=,B=\"\"", ["A|", "B|\"\""]),
    ("A,B=1,C", ["B|1"]),
    (",,A=1,,", ["A|1"]),
    ("A=\"1\"B=\"2\"", ["A|\"1\"", "B|\"2\""]),
    ("A=\"1\" B=2", ["A|\"1\"", "B|2"]),
    ("A=\"1\"junk,B=2", ["A|\"1\"", "B|2"]),
    ("A=1,B=\"2,C=3", ["A|1", "B|2,C=3"]),
    ("A=\"", ["A|"]), ("A=", ["A|"]), ("=1", ["|1"]), ("\"", []), ("", []), ("=", ["|"]),
    ("A=1\"2,3\"", ["A|1\"2"]),
  ]

  @Test(arguments: lists.indices)
  func `An attribute list is split at the commas outside of quotes`(index: Int) {
    let (text, expected) = Self.lists[index]
    let body = Array("#\(text)\n\"".utf8)
    let found = HLSAttributes(body[1..<body.count - 2]).map { attribute in
      let value = String(decoding: body[attribute.value.indices], as: UTF8.self)
      let name = String(decoding: body[attribute.name.indices], as: UTF8.self)
      return attribute.isQuoted ? "\(name)|\"\(value)\"" : "\(name)|\(value)"
    }
    #expect(found == expected, "\(text)")
  }

  @Test func `A quote does not end on another line`() {
    let text = "#EXTM3U\n#EXT-X-MAP:URI=\"a\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\nb.ts\"\n"
    #expect(HLSPlaylists.texts(text) == ["a", "k", "b.ts\""])
  }

  @Test func `Only the whole name of an attribute matches`() {
    let body = Array("XURI=1,URIX=2,URI=3,URI=4".utf8)
    #expect(HLSAttributes(body[...])["URI"].map(Array.init) == Array("3".utf8))
    #expect(HLSAttributes(body[...])["UR"] == nil)
  }
}
