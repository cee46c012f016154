// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Edits of the bytes of a playlist.
@Suite struct HLSEditingTests {
  @Test func `Replacing each reference by itself changes nothing`() {
    for text in [HLSPlaylists.multivariant, HLSPlaylists.media] {
      for end in ["\n", "\r\n", "\r"] {
        let body = Array("\u{FEFF}\(text)".replacing("\n", with: end).utf8)
        var edits = ByteEdits()
        let found = HLSReferences(of: body, url: HLSPlaylists.url).references
        for reference in found {
          edits.replace(reference.range, with: Array(body[reference.range]))
        }
        #expect(!found.isEmpty && edits.applied(to: body) == body)
      }
    }
  }

  @Test func `Only the bytes of references change`() {
    func playlist(_ prefix: String) -> String {
      "\u{FEFF}#EXTM3U\r\n#EXT-X-FOO:URI=\"x\"\r\n#EXT-X-MAP:X=1, URI=\"\(prefix)i\",Y\r\n"
        + "  \(prefix)a \r\n\r\n\(prefix)b"
    }
    let body = Array(playlist("").utf8)
    var edits = ByteEdits()
    for reference in HLSReferences(of: body, url: HLSPlaylists.url).references {
      edits.replace(reference.range, with: "/T/\(reference.text)")
    }
    #expect(String(decoding: edits.applied(to: body), as: UTF8.self) == playlist("/T/"))
  }

  static let cases: [([(Range<Int>, String)], String)] = [
    ([], "0123456789"),
    ([(0..<2, "ab"), (2..<3, ""), (9..<10, "xyz")], "ab345678xyz"),
    ([(9..<10, "x"), (0..<1, "a")], "a12345678x"),
    ([(5..<5, "a"), (5..<5, "b"), (5..<6, "c")], "01234abc6789"),
    ([(2..<5, "a"), (4..<7, "b"), (5..<6, "c")], "01ac6789"),
    ([(4..<7, "b"), (2..<5, "a")], "01a56789"),
    ([(0..<10, "")], ""), ([(10..<10, "end")], "0123456789end"),
    ([(10..<11, "x"), (-1..<1, "y"), (8..<20, "z")], "0123456789"),
  ]

  @Test(arguments: cases.indices)
  func `Edits apply in the order of the body`(index: Int) {
    let (list, expected) = Self.cases[index]
    var edits = ByteEdits()
    for (range, text) in list { edits.replace(range, with: text) }
    #expect(edits.isEmpty == list.isEmpty)
    #expect(
      String(decoding: edits.applied(to: Array("0123456789".utf8)), as: UTF8.self) == expected)
  }

  @Test func `Random edits equal replacements one after the other`() {
    let seed = TestSeed.next()
    print("HLSEditingTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let body = (0..<Int.random(in: 0...60, using: &generator)).map { UInt8($0) }
      var ranges: [Range<Int>] = []
      var position = 0
      while position < body.count {
        let start = Int.random(in: position..<body.count, using: &generator)
        let end = Int.random(in: start + 1...body.count, using: &generator)
        ranges.append(start..<end)
        position = end
      }
      var expected = body
      for (index, range) in ranges.enumerated().reversed() {
        expected.replaceSubrange(range, with: [UInt8](repeating: 0xFF, count: index % 4))
      }
      var edits = ByteEdits()
      for (index, range) in ranges.enumerated().shuffled(using: &generator) {
        edits.replace(range, with: [UInt8](repeating: 0xFF, count: index % 4))
      }
      #expect(edits.applied(to: body) == expected, "seed \(seed)")
    }
  }
}
