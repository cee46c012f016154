// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite struct CacheControlTests {
  @Test func `Directives are parsed regardless of case, quotes and unknown directives`() {
    let control = CacheControl(
      "Public, MAX-AGE=\"60\" , private=\"a, no-store\",x=\"\\\", no-store\", immutable,"
        + "must-revalidate, stale-if-error = 5,,")
    for name in ["private", "public", "must-revalidate", "immutable"] {
      #expect(control.has(name), "\(name)")
    }
    #expect(!control.noStore && !control.noCache && !control.has("must-understand"))
    #expect(control.seconds("max-age") == 60 && control.seconds("stale-if-error") == 5)
    #expect(control.seconds("s-maxage") == nil)
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
    #expect(CacheControl(text).seconds("max-age") == expected)
  }

  @Test func `A missing header has no directives`() {
    #expect(CacheControl(nil) == CacheControl(""))
  }
}

/// Cache-Control for shared caches only (RFC 9213).
@Suite struct TargetedCacheControlTests {
  static let now = Date(timeIntervalSince1970: 1_700_000_000)

  static func freshness(_ headers: HeaderFields, isShared: Bool = true) -> Freshness {
    Freshness(
      status: 200, headers: headers, requestTime: now, responseTime: now,
      keeper: .init(isShared: isShared))
  }

  @Test(arguments: [
    ("max-age=60", 60), ("max-age=60, no-cache", 0), ("max-age=0, max-age=60", 0),
    ("public, max-age=60", 60), ("s-maxage=60, max-age=5", 60), ("s-maxage=x, max-age=60", 0),
    ("x=:YQ==:, max-age=60", 60), ("max-age=60,", 60), ("max-age = 60", 60), ("Max-Age=60", 60),
    (",max-age=60", 60), ("max-age=60, no-cache, &", 0), ("no-cache", 0),
    // Without a lifetime, or no valid dictionary: Cache-Control applies.
    ("", 9), (" ", 9), (", ;", 9), ("max-age=60, &", 9), ("max-age=\"60\"", 9), ("public", 9),
    ("max-age=60.5", 9), ("max-age=-1", 9), ("max-age=60;x=1", 9), ("max-age=60 no-store", 9),
    ("must-revalidate", 9), ("private=(\"a\" \"b\"), max-age=60", 9),
  ])
  func `A shared cache follows CDN-Cache-Control`(
    _ value: String, _ lifetime: Double
  ) {
    let headers: HeaderFields = [
      "CDN-Cache-Control": value, "Cache-Control": "max-age=9",
      "Expires": HTTPDate.format(Self.now + 9),
    ]
    #expect(Self.freshness(headers).lifetime == lifetime, "\(value)")
    #expect(Self.freshness(headers, isShared: false).lifetime == 9, "\(value)")
  }

  @Test func `CDN-Cache-Control replaces Cache-Control and Expires entirely`() {
    let kept = Self.freshness(["CDN-Cache-Control": "max-age=60", "Cache-Control": "no-store"])
    #expect(!kept.noStore && kept.lifetime == 60)
    let left = Self.freshness(["CDN-Cache-Control": "no-store", "Cache-Control": "max-age=60"])
    #expect(left.noStore)
    let revalidated = Self.freshness([
      "CDN-Cache-Control": "max-age=60, must-revalidate", "Cache-Control": "max-age=60",
    ])
    #expect(revalidated.mustRevalidate)
  }

  @Test(arguments: [
    ("x=(,", "private"), ("x=(,", "no-store"), ("x=(,", "private, max-age=60"),
    ("max-age=x", "private"), ("public", "private"), ("no-store=?0", "no-store"),
    ("must-understand", "no-store"),
  ])
  func `A CDN-Cache-Control without a lifetime does not permit storing`(
    _ value: String, _ control: String
  ) {
    let headers: HeaderFields = ["CDN-Cache-Control": value, "Cache-Control": control]
    #expect(Self.freshness(headers).noStore)
  }

  @Test(arguments: [
    ("max-age=60", 60), ("s-maxage=60, x", 60), ("max-age=0", 0),
  ])
  func `A CDN-Cache-Control that states how long permits storing`(
    _ value: String, _ lifetime: Double
  ) {
    for control in ["private", "no-store", "no-cache"] {
      let kept = Self.freshness(["CDN-Cache-Control": value, "Cache-Control": control])
      #expect(!kept.noStore && kept.lifetime == lifetime, "\(control)")
    }
    let unclear = Self.freshness(["CDN-Cache-Control": "x=(,", "Cache-Control": "no-cache"])
    #expect(unclear.mustRevalidate)
  }

  @Test func `A shared cache does not store a private CDN-Cache-Control response`() {
    #expect(Self.freshness(["CDN-Cache-Control": "private, max-age=60"]).noStore)
    #expect(Self.freshness(["CDN-Cache-Control": "private=(\"a\"), max-age=60"]).noStore)
  }

  @Test func `Several CDN-Cache-Control fields form one list`() {
    let headers = HeaderFields([
      ("CDN-Cache-Control", "max-age=60"), ("CDN-Cache-Control", "must-revalidate"),
    ])
    #expect(Self.freshness(headers).lifetime == 60)
    #expect(Self.freshness(headers).mustRevalidate)
  }
}
