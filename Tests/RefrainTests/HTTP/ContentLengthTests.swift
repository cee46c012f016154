// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

/// The length that a head announces.
struct ContentLengthTests {
  private func length(_ values: [String]) -> ContentLength {
    ContentLength(HeaderFields(values.map { ("content-length", $0) }))
  }

  @Test(
    arguments: [
      ([], .absent), (["0"], .bytes(0)), ([" 5\t"], .bytes(5)), (["5", "5"], .bytes(5)),
      (["5, 5 ,5"], .bytes(5)), (["05", "5"], .bytes(5)), (["0", "00"], .bytes(0)),
      (["9223372036854775806"], .bytes(9_223_372_036_854_775_806)),
      (["9223372036854775808"], .beyondLimit), (["99999999999999999999999"], .beyondLimit),
    ] as [([String], ContentLength)])
  func `Equal lengths are one length`(_ values: [String], _ expected: ContentLength) {
    #expect(length(values) == expected)
  }

  @Test(arguments: [
    [""], ["+5"], ["-5"], ["5 5"], ["5,"], [",5"], ["5,,5"], ["0x5"], ["5;"], ["５"], ["5.0"],
    ["5, 6"], ["5", "6"], ["5", "-5"], ["99999999999999999998", "99999999999999999999"],
  ])
  func `Different lengths and other text are invalid`(_ values: [String]) {
    #expect(length(values) == .invalid)
  }

  @Test func `A transfer coding overrides a length`() {
    #expect((["Content-Length": "5"] as HeaderFields).bodyLength == 5)
    let both: HeaderFields = ["Content-Length": "5", "Transfer-Encoding": "chunked"]
    #expect(both.bodyLength == nil)
  }
}
