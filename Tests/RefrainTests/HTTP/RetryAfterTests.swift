// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite struct RetryAfterTests {
  static let now = Date(timeIntervalSince1970: 1_700_000_000)

  @Test(
    arguments: [
      ("0", .zero), ("120", .seconds(120)), (" 5 ", .seconds(5)), ("-5", .zero),
      ("99999999999999999999999", .seconds(1 << 31)),
      (HTTPDate.format(now + 90), .seconds(90)), (HTTPDate.format(now - 90), .zero),
      ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(1 << 31)),
      ("", nil), ("-", nil), ("soon", nil), ("1.5", nil), ("+5", nil), ("5s", nil),
    ] as [(String, Duration?)])
  func `Retry-After is parsed as seconds or as a date`(_ text: String, _ expected: Duration?) {
    #expect(RetryAfter.parse(text, now: Self.now) == expected)
  }
}
