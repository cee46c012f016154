// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite struct FreshnessTests {
  static let now = Date(timeIntervalSince1970: 1_700_000_000)
  static func date(_ offset: TimeInterval) -> String { HTTPDate.format(now + offset) }

  static func freshness(
    _ headers: HeaderFields, status: Int = 200, tookSeconds: Double = 0
  ) -> Freshness {
    Freshness(status: status, headers: headers, requestTime: now - tookSeconds, responseTime: now)
  }

  static let cases1: [(HeaderFields, Double)] = [
    (["Cache-Control": "max-age=60"], 60),
    (["Cache-Control": "max-age=60", "Expires": date(9999)], 60),
    (["Cache-Control": "max-age=60, no-cache"], 0),
    (["Cache-Control": "max-age=60, no-store"], 0),
    (["Cache-Control": "max-age=60", "Vary": "Accept, *"], 0),
    (["Cache-Control": "max-age=60", "Vary": "Accept"], 60),
    (["Cache-Control": "max-age=99999999999999999999"], Double(1 << 31)),
    (["Expires": date(100)], 100),
    (["Expires": date(100), "Date": date(-50)], 150),
    (["Expires": date(-100)], 0), (["Expires": "0"], 0), (["Expires": "-1"], 0),
    (["Expires": "0", "Last-Modified": date(-1000)], 0),
    // Invalid dates: stale, although the date can be guessed (RFC 9111 §5.3).
    (["Expires": date(100).replacing("GMT", with: "UTC")], 0),
    (["Expires": date(100).replacing(", ", with: ",  ")], 0),
    (["Expires": "Thu, 18-Aug-2050 02:01:18 GMT"], 0),
    (["Expires": "Thu, 8 Aug 2050 02:01:18 GMT"], 0),
    (["Expires": "Thu, 18 aug 2050 02:01:18 GMT"], 0),
    (["Last-Modified": date(-1000).replacing("GMT", with: "UTC")], 0),
    // An Age that is no number of seconds is ignored (RFC 9111 §5.1).
    (["Cache-Control": "max-age=60", "Age": "x"], 60),
    (["Cache-Control": "max-age=60", "Age": "-10"], 60),
    (["Cache-Control": "max-age=60", "Age": "10s"], 60),
    (["Cache-Control": "max-age=60", "Age": "10.0"], 60),
    (["Cache-Control": "max-age=60", "Age": ""], 60),
    (["Expires": date(100), "Age": "+10"], 100),
    (["Last-Modified": date(-1000), "Age": "10 "], 100),
    (["Cache-Control": "max-age=60", "Age": "10, x"], 60),
    (["Last-Modified": date(-1000), "Date": date(0)], 100),
    (["Last-Modified": date(-1000)], 100),
    (["Last-Modified": date(-1e9)], 24 * 3600),
    (["Last-Modified": date(1000)], 0),
    (["Last-Modified": "yesterday"], 0),
    ([:], 0),
  ]

  @Test(arguments: cases1)
  func `The lifetime is max-age, else Expires, else a tenth of the age`(
    _ headers: HeaderFields, _ expected: Double
  ) {
    #expect(Self.freshness(headers).lifetime == expected)
  }

  @Test func `A lifetime is guessed for a 206, but not for a 302`() {
    #expect(Self.freshness(["Last-Modified": Self.date(-1000)], status: 206).lifetime == 100)
    #expect(Self.freshness(["Last-Modified": Self.date(-1000)], status: 302).lifetime == 0)
    #expect(Self.freshness(["Cache-Control": "max-age=5"], status: 302).lifetime == 5)
  }

  static let cases2: [(HeaderFields, Double, Double)] = [
    ([:], 0, 0), (["Age": "10"], 0, 10), (["Age": "10"], 5, 15), (["Age": "x"], 5, 5),
    (["Age": "10, 99"], 0, 10), (["Age": "7200,0"], 0, 7200), (["Age": "10, x"], 0, 10),
    (["Age": "-10"], 0, 0),
    (["Age": "99999999999999999999"], 0, Double(1 << 31)), (["Date": date(-30)], 0, 30),
    (["Date": date(-30), "Age": "10"], 5, 30), (["Date": date(30), "Age": "10"], 5, 15),
    (["Age": "10"], -5, 10),
  ]

  @Test(arguments: cases2)
  func `The initial age is the greater of the Age and Date values`(
    _ headers: HeaderFields, _ took: Double, _ expected: Double
  ) {
    #expect(Self.freshness(headers, tookSeconds: took).initialAge == expected)
  }

  @Test func `The first of two Age headers counts`() {
    let headers = HeaderFields([("Age", "10"), ("Age", "99")])
    #expect(Self.freshness(headers).initialAge == 10)
  }

  @Test(arguments: [
    (0, true), (49, true), (50, false), (51, false), (1e12, false),
    // The clock was set back: a little, and by more than the response's lifetime.
    (-10, true), (-60, true), (-61, false), (-1e9, false),
  ])
  func `A response is fresh until its age reaches its lifetime`(
    _ offset: Double, _ expected: Bool
  ) {
    let freshness = Self.freshness(["Cache-Control": "max-age=60", "Age": "10"])
    #expect(freshness.isFresh(at: Self.now + offset) == expected)
  }

  @Test(arguments: ["10s", "x", "-7200", "7200.0", ""])
  func `An invalid Age is ignored`(_ age: String) {
    let freshness = Self.freshness(["Cache-Control": "max-age=60", "Age": age])
    #expect(freshness.lifetime == 60 && freshness.initialAge == 0)
    #expect(Self.freshness(["Last-Modified": Self.date(-1000), "Age": age]).isGuessed == true)
  }

  @Test func `A response without a lifetime is never fresh`() {
    #expect(!Self.freshness([:]).isFresh(at: Self.now))
    #expect(!Self.freshness([:]).isFresh(at: .distantPast))
    #expect(!Self.freshness([:]).isFresh(at: .distantFuture))
  }

  @Test func `A 304 without a lifetime restarts the stored one`() {
    let later = Self.now + 1000
    let next = Self.confirmed(
      ["Cache-Control": "max-age=60, must-revalidate", "Age": "50"], by: ["ETag": "\"a\""], later)
    #expect(next.lifetime == 60 && next.initialAge == 0 && next.confirmedAt == later)
    #expect(next.mustRevalidate)
    #expect(next.isFresh(at: later + 59) && !next.isFresh(at: later + 60))
  }

  @Test func `A 304 with a lifetime replaces the stored one`() {
    let next = Self.confirmed(
      ["Cache-Control": "max-age=60, must-revalidate"], by: ["Cache-Control": "max-age=5"], Self.now
    )
    #expect(next.lifetime == 5 && !next.mustRevalidate)
  }

  private static func confirmed(
    _ stored: HeaderFields, by news: HeaderFields, _ time: Date
  ) -> Freshness {
    let kept = StoredFields.merged([:], with: stored, isConfirmation: false)
    return Freshness(
      status: 200, headers: StoredFields.merged(kept, with: news, isConfirmation: true),
      confirmation: news, requestTime: time, responseTime: time)
  }
}
