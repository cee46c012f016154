// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// MPDs that are broken, enormous or meant to harm.
@Suite(.timeLimit(.minutes(TestSeed.minutes(3)))) struct DASHHostileTests {
  private let most = 4 << 20

  @Test(arguments: [
    "<!DOCTYPE MPD [<!ENTITY a 'b'>]><MPD><BaseURL>&a;</BaseURL></MPD>",
    "<!DOCTYPE MPD[]><MPD/>", "<!DOCTYPE MPD SYSTEM 'a>[' [ ]><MPD/>",
    "<!ENTITY a 'b'><MPD/>", "<MPD><!ENTITY a 'b'></MPD>", "<MPD><!DOCTYPE a [</MPD>",
    "<MPD><!-", "<!DOCTYPE MPD <MPD/", "<!doctype MPD><MPD/>",
    "<?xml version='1.0'?><!-- a --><!DOCTYPE MPD\n[\n<!ENTITY a 'aaaa'>"
      + "<!ENTITY b '&a;&a;&a;'>]><MPD><BaseURL>&b;</BaseURL></MPD>",
  ])
  func `A document that may declare entities is refused`(text: String) {
    #expect(DASHReferences(of: Array(text.utf8), url: mpdURL) == nil)
  }

  @Test func `A document type without an internal subset is skipped`() throws {
    for type in ["<!DOCTYPE MPD>", "<!DOCTYPE MPD SYSTEM \"a[>]\">"] {
      let body = Array("\(type)<MPD><BaseURL>/a</BaseURL></MPD>".utf8)
      let found = try #require(DASHReferences(of: body, url: mpdURL))
      #expect(found.references.map(\.resolved) == ["https://a.example/a"])
    }
  }

  @Test func `Every beginning of an MPD is read without harm`() throws {
    let body = Array(richMPD.utf8)
    let all = try #require(DASHReferences(of: body, url: mpdURL)).references
    for length in 0...body.count {
      guard let found = DASHReferences(of: Array(body[..<length]), url: mpdURL) else { continue }
      // The text of an element that has not ended is no reference yet.
      #expect(
        found.references.map(\.reference) == all.prefix(found.references.count).map(\.reference))
      #expect(found.references.allSatisfy { $0.reference.range.upperBound <= length })
    }
  }

  @Test func `Random damage is read without harm`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    let original = Array(richMPD.utf8)
    let marks = Array("<>/&;\"'=![]-?: \u{0}é#x".utf8)
    for _ in 0..<(TestSeed.isSoak ? 20_000 : 200) {
      var body = original
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let index = Int.random(in: body.indices, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: body[index] = marks.randomElement(using: &random) ?? 0
        case 1: body.remove(at: index)
        case 2: body.insert(UInt8.random(in: .min ... .max, using: &random), at: index)
        default:
          let end = min(body.count, index + Int.random(in: 0..<200, using: &random))
          body.insert(
            contentsOf: body[index..<end], at: Int.random(in: body.indices, using: &random))
        }
      }
      guard let found = DASHReferences(of: body, url: mpdURL) else { continue }
      var end = 0
      for reference in found.references.map(\.reference) {
        #expect(reference.range.lowerBound >= end && !reference.range.isEmpty, "seed \(seed)")
        #expect(reference.range.upperBound <= body.count, "seed \(seed)")
        end = reference.range.upperBound
      }
    }
  }

  @Test(arguments: [
    "<", "</", "<!", "<!--", "<a ", "<?", "&", "&#", "<a", "<a>", "</a>", "<a b='", "a=''",
    "<![CDATA[",
    "<Period>", "<BaseURL>", "<BaseURL/>", "]]", "'", " ", "<Period xmlns:a='b'/>", "-",
  ])
  func `One piece of markup repeated many times is read`(piece: String) {
    for start in ["", "<MPD>", "<MPD ", "<MPD><!--", "<MPD><BaseURL>"] {
      let text = start + String(repeating: piece, count: (64 << 10) / piece.utf8.count)
      let found = DASHReferences(of: Array(text.utf8), url: mpdURL)
      #expect(found?.references.allSatisfy { $0.resolved == nil } ?? true)
    }
  }

  @Test func `Brackets up to the limit are read`() throws {
    let body = Array("<MPD>".utf8) + [UInt8](repeating: UInt8(ascii: "<"), count: most - 5)
    #expect(try #require(DASHReferences(of: body, url: mpdURL)).references.isEmpty)
  }

  @Test(arguments: ["../", "&#38;"])
  func `One attribute of the greatest length is read`(piece: String) throws {
    let value = String(repeating: piece, count: (most - 100) / piece.utf8.count)
    let body = Array("<MPD><Period><SegmentTemplate media='\(value)'/></Period></MPD>".utf8)
    let found = try #require(DASHReferences(of: body, url: mpdURL)).references
    #expect(found.map(\.reference.range.count) == [value.utf8.count])
  }

  @Test func `Elements may be nested without limit`() throws {
    let levels = 100_000
    let body =
      "<MPD>" + String(repeating: "<Period>", count: levels) + "<BaseURL>/a</BaseURL>"
      + String(repeating: "</Period>", count: levels) + "<BaseURL>/b</BaseURL></MPD>"
    let found = try #require(DASHReferences(of: Array(body.utf8), url: mpdURL)).references
    #expect(found.map(\.resolved) == ["https://a.example/b"])
  }

  @Test func `A long base does not multiply the size of the result`() throws {
    let directory = String(repeating: "a/", count: 100_000)
    let name = String(repeating: "b", count: 200_000)
    for base in ["https://b.example/\(directory)", "https://\(name)/"] {
      let children = String(
        repeating:
          "<Representation><BaseURL>c/</BaseURL><SegmentTemplate media='/x'/></Representation>",
        count: 10_000)
      let body = Array(
        "<MPD><BaseURL>\(base)</BaseURL><Period><AdaptationSet>\(children)".utf8)
      let found = try #require(DASHReferences(of: body, url: mpdURL)).references
      #expect(found.count == 20_001)
      #expect(found.dropFirst().allSatisfy { ($0.resolved?.utf8.count ?? 0) < 100 })
    }
  }
}
