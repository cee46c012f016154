// SPDX-License-Identifier: MIT
import Refrain
import Testing

@testable import RefrainProxy

@Suite struct RangeSelectionTests {
  @Test(
    arguments: [
      ("bytes=0-499", 0..<500), ("bytes=0-0", 0..<1), ("bytes=999-999", 999..<1000),
      ("bytes=500-", 500..<1000), ("bytes=0-", 0..<1000), ("bytes=-1", 999..<1000),
      ("bytes=-1000", 0..<1000), ("bytes=-5000", 0..<1000), ("bytes=900-5000", 900..<1000),
      ("BYTES=0-1", 0..<2), ("Bytes=0-1", 0..<2), (" bytes=0-1\t", 0..<2),
      ("bytes=0-1,", 0..<2), ("bytes=,, 0-1 ,,", 0..<2), ("bytes=000-001", 0..<2),
      ("bytes=0-1,2000-3000", 0..<2), ("bytes=-0,4-5", 4..<6),
      ("bytes=5-99999999999999999999999", 5..<1000),
      ("bytes=-99999999999999999999999", 0..<1000), ("bytes=0-9223372036854775807", 0..<1000),
    ] as [(String, ByteRange)])
  func `A satisfiable range is clamped to the resource's length`(
    _ value: String, _ range: ByteRange
  ) {
    #expect(RangeSelection.select(value, length: 1000) == .single(range))
  }

  @Test(arguments: [
    "", "bytes", "bytes=", "bytes= ", "bytes=,", "bytes= , ,", "bytes=-", "bytes=a-b", "bytes=5",
    "bytes=5-4", "bytes=0-1,5-4", "bytes=0-1,x", "bytes=0 -1", "bytes=0- 1", "bytes =0-1",
    "items=0-1", "bytes:0-1", "bytes=0-1-2", "bytes=--1", "bytes=+0-1", "bytes=0x0-0x1",
    "bytes=0-1;2-3", "bytes=٠-١", "none", "bytes=0-1, bytes=2-3", "byte=0-1", "bytes=1.0-2",
  ])
  func `An invalid byte range is ignored`(_ value: String) {
    #expect(RangeSelection.select(value, length: 1000) == .whole)
  }

  @Test(arguments: [
    "bytes=1000-", "bytes=1000-1000", "bytes=-0", "bytes=1000-,2000-3000,-0",
    "bytes=99999999999999999999-", "bytes=9223372036854775807-9223372036854775807",
  ])
  func `Ranges beyond the end cannot be satisfied`(_ value: String) {
    #expect(RangeSelection.select(value, length: 1000) == .unsatisfiable)
  }

  @Test(arguments: ["bytes=0-", "bytes=0-0", "bytes=-1", "bytes=-0"])
  func `An empty resource satisfies no range`(_ value: String) {
    #expect(RangeSelection.select(value, length: 0) == .unsatisfiable)
    #expect(RangeSelection.select("bytes=x", length: 0) == .whole)
  }

  @Test func `Several ranges keep their requested order`() {
    #expect(
      RangeSelection.select("bytes=500-599, 0-9,2000-, -100", length: 1000)
        == .several([500..<600, 0..<10, 900..<1000]))
  }

  @Test func `Overlapping or nearby ranges are merged`() {
    #expect(RangeSelection.select("bytes=0-9,10-19", length: 1000) == .single(0..<20))
    #expect(RangeSelection.select("bytes=0-99,50-149", length: 1000) == .single(0..<150))
    #expect(RangeSelection.select("bytes=0-9,89-99", length: 1000) == .single(0..<100))
    #expect(RangeSelection.select("bytes=0-9,90-99", length: 1000) == .several([0..<10, 90..<100]))
    #expect(RangeSelection.select("bytes=-1,0-", length: 1000) == .single(0..<1000))
  }

  @Test func `A merged range takes the place of its first part`() {
    #expect(
      RangeSelection.select("bytes=800-899,0-9,400-409,5-405", length: 1000)
        == .several([800..<900, 0..<410]))
    // Joined with the last one, it touches the first.
    #expect(RangeSelection.select("bytes=0-99,300-399,150-330", length: 1000) == .single(0..<400))
  }

  @Test func `Too many ranges are refused`() {
    let starts = (0..<32).map { Int64($0) * 1000 }
    let many = starts.map { "\($0)-\($0)" }.joined(separator: ",")
    let parts: [ByteRange] = starts.map { $0..<($0 + 1) }
    #expect(RangeSelection.select("bytes=" + many, length: 100_000) == .several(parts))
    let tooMany = Array(repeating: "0-", count: 33).joined(separator: ",")
    #expect(RangeSelection.select("bytes=" + tooMany, length: 100_000) == .unsatisfiable)
  }
}

@Suite struct SimpleRangeTests {
  private func simple(_ text: String) -> SimpleRange? {
    Array(text.utf8).withUnsafeBytes { SimpleRange($0) }
  }

  @Test func `The common range forms are parsed`() {
    #expect(simple("bytes=0-499") == .closed(0, 499))
    #expect(simple("Bytes=500-") == .from(500))
    #expect(simple("bytes=-500") == .suffix(500))
    #expect(simple("bytes=-99999999999999999999") == .suffix(.max))
  }

  @Test(arguments: [
    "", "bytes", "bytes=", "bytes=-", "bytes=5-4", "bytes=0-1,2-3", "bytes= 0-1", "bytes=0-1 ",
    "items=0-1", "bytes=0--1",
  ])
  func `Any other form is not parsed as a simple range`(_ text: String) {
    #expect(simple(text) == nil)
  }

  @Test func `A simple range is clamped to the resource's length`() {
    #expect(SimpleRange.closed(0, 499).resolved(length: 100) == 0..<100)
    #expect(SimpleRange.closed(0, .max).resolved(length: .max) == 0..<(.max))
    #expect(SimpleRange.closed(100, 100).resolved(length: 100) == nil)
    #expect(SimpleRange.from(99).resolved(length: 100) == 99..<100)
    #expect(SimpleRange.from(.max).resolved(length: 100) == nil)
    #expect(SimpleRange.suffix(1).resolved(length: 100) == 99..<100)
    #expect(SimpleRange.suffix(.max).resolved(length: 100) == 0..<100)
    #expect(SimpleRange.suffix(0).resolved(length: 100) == nil)
    #expect(SimpleRange.suffix(1).resolved(length: 0) == nil)
  }
}
