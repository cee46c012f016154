// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite struct HTTPDateTests {
  /// The example in RFC 9110 §5.6.7.
  static let example = Date(timeIntervalSince1970: 784_111_777)

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
    "  Sun, 06 Nov 1994 08:49:37 GMT\t",
    // The day of the week is wrong.
    "Mon, 06 Nov 1994 08:49:37 GMT",
  ])
  func `The three date formats are parsed`(_ text: String) {
    #expect(HTTPDate.parse(text) == Self.example)
  }

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", true), ("Sunday, 06-Nov-94 08:49:37 GMT", true),
    ("Sun Nov  6 08:49:37 1994", true), ("Wed Nov 16 08:49:37 1994", true),
    ("Wednesday, 16-Nov-94 08:49:37 GMT", true), ("\tSun, 06 Nov 1994 08:49:37 GMT ", true),
    ("Sun, 06 Nov 1994 08:49:37 UTC", false), ("Sun, 06  Nov 1994 08:49:37 GMT", false),
    ("Sun,  06 Nov 1994 08:49:37 GMT", false), ("Sun, 6 Nov 1994 08:49:37 GMT", false),
    ("Sun, 06-Nov-1994 08:49:37 GMT", false), ("Sun, 06-Nov-94 08:49:37 GMT", false),
    ("Sunday, 06-Nov-1994 08:49:37 GMT", false), ("Sunday, 06 Nov 94 08:49:37 GMT", false),
    ("Sunday, 06-Nov-94 08:49:37 UTC", false), ("Sunday, 6-Nov-94 08:49:37 GMT", false),
    ("Sun Nov 6 08:49:37 1994", false), ("Sun Nov 06 08:49:37 1994", true),
    ("Sun, 30 Feb 1994 08:49:37 GMT", false), ("Sun, 06 Nov 1994 24:49:37 GMT", false),
    ("Sun, 06 nov 1994 08:49:37 GMT", false), ("0", false), ("", false),
  ])
  func `Only exact dates are accepted`(_ text: String, _ isOne: Bool) {
    #expect((HTTPDate.parse(text) != nil) == isOne, "\(text.debugDescription)")
  }

  @Test(arguments: [
    "", "0", "-1", "GMT", "Sun, 30 Feb 1994 08:49:37 GMT", "Wed, 29 Feb 1995 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
    "Sun, 06 Nov 1994 08:49:60 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
    "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 PST",
    "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "So, 06 Nov 1994 08:49:37 GMT",
    "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37", "Sun, +6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 19940 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    "Sun, ٠٦ Nov 1994 08:49:37 GMT",
  ])
  func `An invalid date is rejected`(_ text: String) {
    #expect(HTTPDate.parse(text) == nil)
  }

  @Test(arguments: [
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
    ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799), ("Fri, 01 Mar 1996 00:00:00 GMT", 825_638_400),
    ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ("Mon, 18 Jan 2038 03:14:08 GMT", 2_147_397_248),
  ])
  func `Dates are parsed and formatted consistently`(_ text: String, _ seconds: Double) {
    #expect(HTTPDate.parse(text) == Date(timeIntervalSince1970: seconds))
    #expect(HTTPDate.format(Date(timeIntervalSince1970: seconds)) == text)
  }

  @Test(arguments: [("69", 2069), ("70", 1970), ("99", 1999), ("00", 2000), ("26", 2026)])
  func `A two-digit year is one of 1970 to 2069`(_ text: String, _ year: Int) {
    let date = HTTPDate.parse("Friday, 01-Jan-\(text) 00:00:00 GMT")
    #expect(date == HTTPDate.parse("Fri, 01 Jan \(year) 00:00:00 GMT"))
  }

  @Test func `Fractions are rounded down, and extreme dates are clamped`() {
    #expect(
      HTTPDate.format(Date(timeIntervalSince1970: 784_111_777.999))
        == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(
      HTTPDate.format(Date(timeIntervalSince1970: -0.5)) == "Wed, 31 Dec 1969 23:59:59 GMT")
    #expect(
      HTTPDate.format(Date(timeIntervalSince1970: .infinity)) == "Fri, 31 Dec 9999 23:59:59 GMT")
    #expect(
      HTTPDate.format(Date(timeIntervalSince1970: -1e300)) == "Sat, 01 Jan 0000 00:00:00 GMT")
    #expect(HTTPDate.format(Date(timeIntervalSince1970: .nan)) == "Thu, 01 Jan 1970 00:00:00 GMT")
  }

  @Test func `Dates over 800 years are parsed back and have the right weekday`() {
    let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    for day in stride(from: 0, to: 292_194, by: 13) {
      let date = Date(timeIntervalSince1970: Double(day) * 86_400)
      let text = HTTPDate.format(date)
      guard HTTPDate.parse(text) == date, text.hasPrefix(days[day % 7]) else {
        Issue.record("day \(day): \(text)")
        return
      }
    }
  }
}
