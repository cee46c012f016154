// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

@Suite struct RangeFuzzTests {
  private enum Asked: Equatable {
    case whole, unsatisfiable
    case range(ByteRange)
  }

  /// Parses a range by RFC 9110 §14.1, slowly: with regular expressions, and numbers limited by
  /// their digits.
  private static func read(_ value: String, length: Int) -> Asked {
    guard
      let match = value.wholeMatch(of: /[ \t]*[bB][yY][tT][eE][sS]=([0-9]*)-([0-9]*)[ \t]*/)
    else { return .whole }
    let last = Int64(length - 1)
    let range: ClosedRange<Int64>
    switch (number(match.1), number(match.2)) {
    case (nil, nil): return .whole
    case (let first?, nil):
      guard first <= last else { return .unsatisfiable }
      range = first...last
    case (nil, let count?):
      guard count > 0, length > 0 else { return .unsatisfiable }
      range = max(0, Int64(length) - count)...last
    case (let first?, let end?):
      guard first <= end else { return .whole }
      guard first <= last else { return .unsatisfiable }
      range = first...min(end, last)
    }
    return .range(range.lowerBound..<range.upperBound + 1)
  }

  private static func number(_ digits: Substring) -> Int64? {
    if digits.isEmpty { return nil }
    return Int64(digits) ?? .max
  }

  private static func value(_ fuzz: inout Fuzz, length: Int) -> String {
    let count = fuzz.oneIn(4) ? 2 : 1
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
      let selected: Asked =
        RequestedRange(value).map {
          $0.resolved(length: Int64(length)).map { .range($0) } ?? .unsatisfiable
        } ?? .whole
      guard asked == selected else {
        Issue.record(
          "seed \(fuzz.seed): \(value.debugDescription) of \(length): \(asked), \(selected)")
        return
      }
    }
  }

  @Test func `Ranges of a huge resource do not overflow`() {
    #expect(RequestedRange("bytes=0-\(Int64.max)")?.resolved(length: .max) == 0..<(.max))
    #expect(RequestedRange("bytes=-\(Int64.max)")?.resolved(length: 100) == 0..<100)
  }
}
