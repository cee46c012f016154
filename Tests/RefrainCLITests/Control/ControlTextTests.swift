// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainCLI

/// Lines of text, which mpv's input.conf has too.
struct ControlTextTests {
  private func words(_ line: String) throws(ControlRefusal) -> [[String]] {
    try ControlText(Array(line.utf8)).commands.map { $0.compactMap(\.text) }
  }

  @Test(
    arguments: [
      ("cycle pause", [["cycle", "pause"]]), ("  seek \t 10 \r", [["seek", "10"]]),
      ("set volume 50 ; playlist-next", [["set", "volume", "50"], ["playlist-next"]]),
      ("a;b;;c;", [["a"], ["b"], ["c"]]), ("a # b ; c", [["a"]]), ("a#b", [["a"]]), (";", []),
      ("a 'b;# c' d", [["a", "b;# c", "d"]]), (#"a 'b\n"'"#, [["a", #"b\n""#]]),
      (#"a "b c" "" d"#, [["a", "b c", "", "d"]]), (#"a "\"\\\/\'""#, [["a", #""\/'"#]]),
      (#"a "x\ty\n\u00e9\x41""#, [["a", "x\ty\né\u{41}"]]), (#"a "\xc3\xa9""#, [["a", "é"]]),
      ("a `-b 'c'-` d", [["a", "b 'c'", "d"]]), ("a ``b` c``", [["a", "b` c"]]),
      (#"set volume 3"4""#, [["set", "volume", #"3"4""#]]),
      ("a é\u{1F600}", [["a", "é\u{1F600}"]]),
    ] as [(String, [[String]])])
  func `Words are separated by spaces, and commands by semicolons`(
    _ line: String, _ expected: [[String]]
  ) throws {
    #expect(try words(line) == expected)
  }

  @Test(arguments: [
    #"a "b"#, "a 'b", "a `-b", "a `-b`-", "a `", #"a "b"c"#, "a 'b''c'", #"a "\q""#, #"a "\u12""#,
    #"a "\ud800""#, #"a "\xg0""#, #"a "\"#, #"a "\xff""#,
  ])
  func `A quote without an end, and an unknown escape, are refused`(_ line: String) {
    #expect(throws: ControlRefusal.self) { try words(line) }
  }

  @Test func `All commands of a line are valid, or none is performed`() throws {
    #expect(
      try ControlLine(Array(#"no-osd set volume "20" ; set mute yes # both"#.utf8))
        == .text([.set(.volume, .string("20")), .set(.mute, .string("yes"))]))
    for line in [
      "nonsense", "[1]", "set volume 20 ; nonsense", "set volume 20 x", "get_property x",
    ] {
      do throws(ControlFailure) {
        _ = try ControlLine(Array(line.utf8))
        Issue.record("accepted: \(line)")
      } catch {
        #expect(error.id == nil, "\(line)")
      }
    }
  }
}
