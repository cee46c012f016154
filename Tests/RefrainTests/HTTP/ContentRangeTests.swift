// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite struct ContentRangeTests {
  @Test(
    arguments: [
      ("bytes 0-499/1234", 0..<500, 1234), ("bytes 0-0/1", 0..<1, 1),
      ("bytes 500-999/*", 500..<1000, nil), ("bytes */1234", nil, 1234), ("bytes */0", nil, 0),
      ("BYTES 0-1/2", 0..<2, 2), ("  bytes   0 - 1 / 2 ", 0..<2, 2), ("bytes\t0-1/2", 0..<2, 2),
      ("bytes 00-01/02", 0..<2, 2),
      ("bytes 0-9223372036854775805/9223372036854775806", 0..<(.max - 1), .max - 1),
    ] as [(String, ByteRange?, Int64?)])
  func `A valid Content-Range gives the range and the total`(
    _ text: String, _ range: ByteRange?, _ total: Int64?
  ) {
    #expect(ContentRange(text) == ContentRange(range: range, total: total))
  }

  @Test(arguments: [
    "", "bytes", "bytes ", "bytes 0-1", "0-1/2", "bytes=0-1/2", "bytes 1-0/2", "bytes 0-2/2",
    "bytes 5-9/5", "bytes */*", "bytes -1/2", "bytes 0-/2", "bytes -/2", "bytes 0-1/", "bytes /2",
    "bytes a-b/c", "bytes 0-1/-2", "bytes +0-1/2", "items 0-1/2", "bytes 0-1/2/3", "bytes 0-1-2/3",
    "bytes 0-9223372036854775807/*", "bytes 0-18446744073709551615/*",
    "bytes 0-1/9223372036854775808", "bytes 0-1/2, bytes 0-1/2", "bytes ٠-١/٢", "bytes 0x0-0x1/2",
    "bytes 0-0/0",
  ])
  func `An invalid Content-Range is rejected`(_ text: String) {
    #expect(ContentRange(text) == nil)
  }
}

@Suite struct RangeHeaderTests {
  @Test func `A Range value names the last byte if it is known`() {
    #expect(RangeHeader.value(0, to: nil) == "bytes=0-")
    #expect(RangeHeader.value(500, to: nil) == "bytes=500-")
    #expect(RangeHeader.value(0, to: 1) == "bytes=0-0")
    #expect(RangeHeader.value(500, to: 1000) == "bytes=500-999")
    #expect(RangeHeader.value(.max - 1, to: .max) == "bytes=\(Int64.max - 1)-\(Int64.max - 1)")
  }
}
