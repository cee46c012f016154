// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite struct CacheControlTests {
  @Test func `Directives are parsed regardless of case, quotes and unknown directives`() {
    let control = CacheControl(
      "Public, MAX-AGE=\"60\" , private=\"a, no-store\",x=\"\\\", no-store\", immutable,"
        + "must-revalidate, stale-if-error = 5,,")
    var expected = CacheControl()
    expected.isPrivate = true
    expected.isPublic = true
    expected.maxAge = 60
    expected.immutable = true
    expected.mustRevalidate = true
    expected.staleIfError = 5
    #expect(control == expected)
  }

  @Test func `The no-cache directive counts even if it names fields`() {
    #expect(CacheControl("no-cache").noCache)
    #expect(CacheControl("no-cache=\"Set-Cookie\"").noCache)
    #expect(CacheControl("no-store").noStore)
    #expect(CacheControl(", ,no-store").noStore)
    #expect(CacheControl("=x, no-store").noStore)
    #expect(CacheControl("max-age=1 junk, no-store").noStore)
  }

  @Test(
    arguments: [
      ("max-age=0", 0), ("max-age=31536000", 31_536_000), ("max-age=1, max-age=2", 1),
      ("max-age=99999999999999999999999", 1 << 31), ("max-age=-1", 0), ("max-age=abc", 0),
      ("max-age", 0), ("max-age=", 0), ("max-age=1.5", 0), ("s-maxage=9", nil), ("", nil),
      ("max-age=\"60", 60), ("xmax-age=1", nil),
    ] as [(String, Int64?)])
  func `A max-age saturates, and an invalid one counts as stale`(
    _ text: String, _ expected: Int64?
  ) {
    #expect(CacheControl(text).maxAge == expected)
  }

  @Test func `A missing header has no directives`() {
    #expect(CacheControl(nil) == CacheControl())
  }
}
