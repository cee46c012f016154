// SPDX-License-Identifier: MIT
import Testing
import TestSupport

@testable import RefrainCLI

struct KeyParserTests {
  /// Terminal input and its meaning, in the order of xterm's ctlseqs.
  static let sequences: [(bytes: String, keys: [Key])] = [
    ("a", [Key("a")]), ("é", [Key("é")]), ("桜", [Key("桜")]), ("\u{1F338}", [Key("\u{1F338}")]),
    (" ", [Key(" ")]), ("\r", [Key(.enter)]), ("\n", [Key(.enter)]), ("\t", [Key(.tab)]),
    ("\u{7F}", [Key(.backspace)]), ("\u{8}", [Key(.backspace)]),
    ("\u{3}", [Key("c", .control)]), ("\u{1A}", [Key("z", .control)]),
    ("\u{C}", [Key("l", .control)]),
    ("\u{1C}", [Key("\\", .control)]), ("\0", [Key(" ", .control)]),
    ("\u{1B}[A", [Key(.up)]), ("\u{1B}[B", [Key(.down)]), ("\u{1B}[C", [Key(.right)]),
    ("\u{1B}[D", [Key(.left)]), ("\u{1B}[H", [Key(.home)]), ("\u{1B}[F", [Key(.end)]),
    ("\u{1B}OA", [Key(.up)]), ("\u{1B}OD", [Key(.left)]), ("\u{1B}OH", [Key(.home)]),
    ("\u{1B}OM", [Key(.enter)]), ("\u{1B}OP", [Key(.function(1))]),
    ("\u{1B}O5C", [Key(.right, .control)]),
    ("\u{1B}[1;2C", [Key(.right, .shift)]), ("\u{1B}[1;5D", [Key(.left, .control)]),
    ("\u{1B}[1;3A", [Key(.up, .alt)]), ("\u{1B}[1;6B", [Key(.down, [.shift, .control])]),
    ("\u{1B}[1;5:1C", [Key(.right, .control)]),
    ("\u{1B}[c", [Key(.right, .shift)]),
    ("\u{1B}[1~", [Key(.home)]), ("\u{1B}[4~", [Key(.end)]), ("\u{1B}[7~", [Key(.home)]),
    ("\u{1B}[3~", [Key(.delete)]), ("\u{1B}[5~", [Key(.pageUp)]), ("\u{1B}[6~", [Key(.pageDown)]),
    ("\u{1B}[3;5~", [Key(.delete, .control)]), ("\u{1B}[24~", [Key(.function(12))]),
    ("\u{1B}[Z", [Key(.tab, .shift)]),
    ("\u{1B}a", [Key("a", .alt)]), ("\u{1B}é", [Key("é", .alt)]),
    ("\u{1B}\u{1B}[A", [Key(.up, .alt)]), ("\u{1B}\u{7F}", [Key(.backspace, .alt)]),
    ("\u{1B}[99;5u", [Key("c", .control)]), ("\u{1B}[27u", [Key(.escape)]),
    ("\u{1B}[27;5;99~", [Key("c", .control)]), ("\u{1B}[13;2u", [Key(.enter, .shift)]),
    ("\u{1B}[200~q\u{1B}[Ax\u{1B}[201~", [Key(.paste("q\u{1B}[Ax"))]),
    ("\u{1B}[200~桜\u{1B}[201~", [Key(.paste("桜"))]),
    // Responses and keys without a meaning here.
    ("\u{1B}[[A", []), ("\u{1B}[?1;2c", []), ("\u{1B}[>0;276;0c", []),
    ("\u{1B}[12;40R", [Key(.function(3), [.shift, .alt, .control])]),
    ("\u{1B}[?2026;2$y", []), ("\u{1B}]11;rgb:0000/0000/0000\u{7}", []),
    ("\u{1B}]11;rgb:0000/0000/0000\u{1B}\\", []), ("\u{1B}P>|xterm(380)\u{1B}\\", []),
    ("\u{1B}_Gi=31;OK\u{1B}\\", []), ("\u{1B}[99~", []), ("\u{1B}[1114112u", []),
    ("\u{1B}[55296u", []),
    ("\u{1B}[99999999999999999999;5C", [Key(.right, .control)]), ("\u{9B}", []),
  ]

  @Test func `Every sequence is parsed as its key, wherever reads split it`() {
    for (text, keys) in Self.sequences {
      let bytes = Array(text.utf8)
      for cut in 0...bytes.count {
        var parser = KeyParser()
        let found = parser.feed(bytes[..<cut]) + parser.feed(bytes[cut...])
        #expect(found == keys, "\(bytes) cut at \(cut)")
        #expect(!parser.isWaiting, "\(bytes)")
      }
      var parser = KeyParser()
      #expect(bytes.flatMap { parser.feed([$0]) } == keys, "\(bytes) one by one")
    }
  }

  @Test func `Consecutive sequences are parsed separately`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let some = (0..<8).compactMap { _ in Self.sequences.randomElement(using: &random) }
      var parser = KeyParser()
      var rest = some.flatMap { Array($0.bytes.utf8) }[...]
      var keys: [Key] = []
      while !rest.isEmpty {
        let count = Int.random(in: 1...max(1, rest.count), using: &random)
        keys += parser.feed(rest.prefix(count))
        rest = rest.dropFirst(count)
      }
      #expect(keys == some.flatMap(\.keys), "seed \(seed)")
    }
  }

  @Test func `Escape alone is a key when nothing follows`() {
    var parser = KeyParser()
    #expect(parser.feed([0x1B]).isEmpty)
    #expect(parser.isWaiting)
    #expect(parser.flush() == [Key(.escape)])
    #expect(!parser.isWaiting)
    #expect(parser.feed(Array("[A".utf8)) == [Key("["), Key("A")])
  }

  @Test(arguments: [("[", Key("[", .alt)), ("O", Key("O", .alt)), ("]", Key("]", .alt))])
  func `Alt with the first character of a sequence is a key when nothing follows`(
    _ opener: String, _ key: Key
  ) {
    var parser = KeyParser()
    #expect(parser.feed(Array("\u{1B}\(opener)".utf8)).isEmpty)
    #expect(parser.flush() == [key])
    #expect(parser.feed(Array("a".utf8)) == [Key("a")])
  }

  @Test func `An incomplete sequence is not a key`() {
    var parser = KeyParser()
    #expect(parser.feed(Array("\u{1B}[1;".utf8)).isEmpty)
    #expect(parser.flush().isEmpty)
    #expect(parser.feed(Array("q".utf8)) == [Key("q")])
  }

  @Test func `A paste waits for its end, however long it is`() {
    var parser = KeyParser()
    #expect(parser.feed(Array("\u{1B}[200~abc".utf8)).isEmpty)
    #expect(!parser.isWaiting)
    #expect(parser.flush().isEmpty)
    #expect(parser.feed(Array("q\u{1B}[201~".utf8)) == [Key(.paste("abcq"))])

    let long = [UInt8](repeating: UInt8(ascii: "a"), count: 300_000)
    #expect(parser.feed(Array("\u{1B}[200~".utf8) + long).isEmpty)
    #expect(parser.feed(Array("\u{1B}[201~q".utf8)).last == Key("q"))
  }

  @Test func `A control character in a sequence ends it and is parsed itself`() {
    var parser = KeyParser()
    #expect(parser.feed(Array("\u{1B}[1;\u{3}".utf8)) == [Key("c", .control)])
    #expect(parser.feed(Array("\u{1B}[1;\u{1B}[A".utf8)) == [Key(.up)])
  }

  @Test func `Bytes that are not UTF-8 are dropped`() {
    var parser = KeyParser()
    #expect(parser.feed([0xFF, 0xC0, 0x80, 0xE6, 0xA1] + Array("q".utf8)) == [Key("q")])
    #expect(parser.feed([0xED, 0xA0, 0x80] + Array("q".utf8)) == [Key("q")])
  }

  @Test func `Random input leaves the parser usable`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      var parser = KeyParser()
      let noise = (0..<40).map { _ in
        Bool.random(using: &random)
          ? UInt8.random(in: 0...255, using: &random)
          : Array("\u{1B}[O]1;2~A".utf8).randomElement(using: &random) ?? 0
      }
      _ = parser.feed(noise)
      // Outside of pastes and strings, and after a pause.
      _ = parser.feed(Array("\u{1B}\\\u{1B}[201~".utf8))
      _ = parser.flush()
      #expect(parser.feed(Array("q".utf8)) == [Key("q")], "seed \(seed): \(noise)")
    }
  }
}
