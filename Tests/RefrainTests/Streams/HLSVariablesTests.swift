// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// EXT-X-DEFINE and the substitution of variables.
@Suite struct HLSVariablesTests {
  static let cases: [(lines: String, texts: [String])] = [
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n{$a}.ts", ["1.ts"]),
    ("#EXT-X-DEFINE:VALUE=\"1\",NAME=\"a\"\nx{$a}y{$a}", ["x1y1"]),
    // Only a definition before counts, and the first one.
    ("{$a}.ts\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"", ["{$a}.ts"]),
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"2\"\n{$a}", ["1"]),
    // A value may use earlier variables. Its result is not substituted again.
    (
      "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n#EXT-X-DEFINE:NAME=\"b\",VALUE=\"{$a}2\"\n{$b}",
      ["12"]
    ),
    (
      "#EXT-X-DEFINE:NAME=\"b\",VALUE=\"{$a}\"\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n{$b}",
      ["{$a}"]
    ),
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n#EXT-X-MAP:URI=\"{$a}.mp4\"", ["1.mp4"]),
    // An undefined variable and other braces stay.
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n{$b}{$a}{a}{$}{$a b}{$a", ["{$b}1{a}{$}{$a b}{$a"]),
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n{${$a}}", ["{$1}"]),
    ("#EXT-X-DEFINE:NAME=\"A-b_9\",VALUE=\"1\"\n{$A-b_9}{$a-b_9}", ["1{$a-b_9}"]),
    ("#EXT-X-DEFINE:NAME=\"a\"\nx{$a}", ["x"]),
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n{$a}", ["1"]),
    ("#EXT-X-DEFINE:IMPORT=\"parent\"\n{$parent}", ["p"]),
    ("{$parent}", ["{$parent}"]),
    ("#EXT-X-DEFINE:IMPORT=\"unknown\"\n{$unknown}", ["{$unknown}"]),
    ("#EXT-X-DEFINE:QUERYPARAM=\"t\"\ns?t={$t}", ["s?t=a+b/c=="]),
    ("#EXT-X-DEFINE:QUERYPARAM=\"n\"\n{$n}", ["1"]),
    ("#EXT-X-DEFINE:QUERYPARAM=\"none\"\nx{$none}", ["x"]),
    ("#EXT-X-DEFINE:QUERYPARAM=\"bad\"\n{$bad}", ["%FF"]),
    ("#EXT-X-DEFINE:QUERYPARAM=\"missing\"\n{$missing}", ["{$missing}"]),
  ]

  @Test(arguments: cases.indices)
  func `Variables are substituted by the definitions that precede`(index: Int) throws {
    let (lines, texts) = Self.cases[index]
    let url = try #require(
      URL(string: "https://a.example/m.m3u8?n=1&t=a%2Bb%2Fc==&none&bad=%FF&n=2#t=3"))
    let found = HLSPlaylists.references(
      "#EXTM3U\n\(lines)\n", url: url, imported: ["parent": "p", "a": "imported"])
    #expect(found.references.map(\.text) == texts, "\(lines)")
  }

  @Test func `The range of a substituted reference is that of its spelling`() {
    let text = "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"long value\"\n{$a}\n"
    let found = HLSPlaylists.references(text).references
    #expect(found.map { String(decoding: Array(text.utf8)[$0.range], as: UTF8.self) } == ["{$a}"])
  }

  @Test func `A text longer than the limit is no reference`() {
    let limit = HLSVariables.longestText
    let value = String(repeating: "v", count: limit - 1)
    let head = "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"\(value)\"\n"
    let lengths = HLSPlaylists.texts("\(head){$a}\n{$a}1\n{$a}12\n1{$a}2\n{$a}{$a}\nx\n").map(
      \.count)
    #expect(lengths == [limit - 1, limit, 1])
    #expect(HLSPlaylists.texts("#EXTM3U\n\(value)1\n\(value)12\nx").map(\.count) == [limit, 1])
  }

  @Test func `Repeated substitution has a limit that depends on the body`() {
    let value = String(repeating: "v", count: 60_000)
    let body =
      "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"\(value)\"\n"
      + String(repeating: "{$a}\n", count: 100_000) + "plain.ts\n"
    let found = HLSPlaylists.references(body).references
    let sum = found.reduce(0) { $0 + $1.text.utf8.count }
    #expect(found.count > 100 && found.last?.text == "plain.ts")
    #expect(sum <= 18 * body.utf8.count + HLSVariables.longestText)
  }

  @Test func `Definitions that double a value stay bounded`() {
    var body = "#EXTM3U\n#EXT-X-DEFINE:NAME=\"v0\",VALUE=\"0123456789abcdef\"\n"
    for index in 1...1000 {
      body += "#EXT-X-DEFINE:NAME=\"v\(index)\",VALUE=\"{$v\(index - 1)}{$v\(index - 1)}\"\n"
      if index == 3 { body += "{$v3}\n" }
    }
    let found = HLSPlaylists.references(body + "{$v1000}\n")
    #expect(found.references.first?.text.count == 128)
    let sum = found.variables.values.reduce(0) { $0 + $1.utf8.count }
    #expect(sum <= 18 * body.utf8.count + HLSVariables.longestText)
  }
}
