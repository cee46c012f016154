// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

@Suite struct RangeFuzzTests {
  private enum Asked: Equatable {
    case whole, unsatisfiable
    case ranges([ClosedRange<Int>])
  }

  /// Parses a range by RFC 9110 §14.1, slowly: with regular expressions, and numbers limited by
  /// their digits.
  private static func read(_ value: String, length: Int) -> Asked {
    guard value.wholeMatch(of: /[ \t]*[bB][yY][tT][eE][sS]=(.*)/) != nil,
      let equals = value.firstIndex(of: "=")
    else { return .whole }
    let specifiers = value[value.index(after: equals)...].components(separatedBy: ",")
      .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " \t")) }
      .filter { !$0.isEmpty }
    if specifiers.isEmpty { return .whole }
    var ranges: [ClosedRange<Int>] = []
    for (index, specifier) in specifiers.enumerated() {
      if index >= 32 { return .unsatisfiable }
      guard let match = specifier.wholeMatch(of: /([0-9]*)-([0-9]*)/) else { return .whole }
      let (first, last) = (number(match.1), number(match.2))
      switch (first, last) {
      case (nil, nil): return .whole
      case (let first?, nil):
        if first < length { ranges.append(first...(length - 1)) }
      case (nil, let count?):
        if count > 0, length > 0 { ranges.append(max(0, length - count)...(length - 1)) }
      case (let first?, let last?):
        if first > last { return .whole }
        if first < length { ranges.append(first...min(last, length - 1)) }
      }
    }
    return ranges.isEmpty ? .unsatisfiable : .ranges(ranges)
  }

  private static func number(_ digits: Substring) -> Int? {
    if digits.isEmpty { return nil }
    return Int(digits) ?? .max
  }

  /// Whether the parts match the request, counted byte by byte.
  private static func isRight(
    _ parts: [ByteRange], for asked: [ClosedRange<Int>], length: Int
  ) -> Bool {
    var sent = [Int](repeating: 0, count: length)
    var wanted = [Bool](repeating: false, count: length)
    for part in parts {
      guard part.lowerBound >= 0, part.upperBound <= Int64(length), !part.isEmpty else {
        return false
      }
      for index in part { sent[Int(index)] += 1 }
      // Each part begins and ends with a requested byte.
      guard asked.contains(where: { $0.lowerBound == Int(part.lowerBound) }),
        asked.contains(where: { $0.upperBound == Int(part.upperBound) - 1 })
      else { return false }
    }
    for range in asked { for index in range { wanted[index] = true } }
    var run = 0
    for index in 0..<length {
      guard sent[index] <= 1, !wanted[index] || sent[index] == 1 else { return false }
      run = sent[index] == 1 && !wanted[index] ? run + 1 : 0
      guard run < 80 else { return false }
    }
    // The parts are in the order of their first requested ranges.
    let order = parts.map { part in asked.firstIndex { part.contains(Int64($0.lowerBound)) } ?? -1 }
    return order == order.sorted() && Set(order).count == order.count
  }

  private static func value(_ fuzz: inout Fuzz, length: Int) -> String {
    let count = fuzz.oneIn(20) ? 30 + fuzz.number(below: 5) : 1 + fuzz.number(below: 6)
    var elements: [String] = []
    for _ in 0..<count {
      let first = fuzz.number(below: length + 20)
      let last = fuzz.oneIn(20) ? fuzz.number(below: length) : first + fuzz.number(below: 60)
      elements.append(
        fuzz.pick([
          "\(first)-\(last)", "\(first)-\(last)", "\(first)-\(last)", "\(first)-",
          "-\(fuzz.number(below: 20))", " \(first)-\(last)\t", "", "\(first)-99999999999999999999",
        ]))
    }
    return fuzz.pick(["bytes=", "bytes=", "bytes=", "Bytes=", " bytes="])
      + elements.joined(separator: fuzz.pick([",", ", "]))
  }

  @Test func `Range selection agrees with a simple implementation of RFC 9110`() {
    var fuzz = Fuzz()
    print("RangeFuzzTests: seed \(fuzz.seed)")
    while !fuzz.isOver {
      let length = fuzz.oneIn(20) ? fuzz.number(below: 2) : fuzz.number(below: 1500)
      var value = Self.value(&fuzz, length: length)
      if fuzz.oneIn(2) {
        let bytes = fuzz.mutated(Array(value.utf8), with: Array("bytes=-, \t0019".utf8))
        value = String(decoding: bytes.map { $0 & 0x7F }, as: UTF8.self)
        if value.contains(where: { $0.isNewline }) { continue }
      }
      let asked = Self.read(value, length: length)
      let selected = RequestedRange(value).selection(length: Int64(length))
      let isRight =
        switch (asked, selected) {
        case (.whole, .whole), (.unsatisfiable, .unsatisfiable): true
        case (.ranges(let asked), .single(let part)):
          Self.isRight([part], for: asked, length: length)
        case (.ranges(let asked), .several(let parts)):
          parts.count > 1 && Self.isRight(parts, for: asked, length: length)
        default: false
        }
      var text = value
      let simple = text.withUTF8 { SimpleRange(UnsafeRawBufferPointer($0)) }
      let isSimpleRight =
        simple.map { simple in
          let range = simple.resolved(length: Int64(length))
          return selected == (range.map { .single($0) } ?? .unsatisfiable)
        } ?? true
      guard isRight, isSimpleRight else {
        Issue.record(
          "seed \(fuzz.seed): \(value.debugDescription) of \(length): \(asked), \(selected)")
        return
      }
    }
  }

  @Test func `Several ranges of a huge resource have no length that overflows`() {
    let parts = MultipartByteRanges(
      ranges: [0..<(.max - 100), (.max - 1)..<(.max)], length: .max, contentType: nil)
    #expect(parts.contentLength == nil)
    #expect(SimpleRange.closed(0, .max).resolved(length: .max) == 0..<(.max))
    #expect(SimpleRange.suffix(.max).resolved(length: 100) == 0..<100)
  }
}
