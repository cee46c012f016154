// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The freshness of a response that was found behind redirects.
@Suite struct RedirectionTests {
  private static let now = FreshnessTests.now

  /// Returns the freshness of a response, by default one that is fresh for 600 seconds, behind
  /// redirects that were followed so many seconds ago.
  private static func behind(
    _ redirections: [(Int, HeaderFields)], took seconds: Double = 0,
    _ headers: HeaderFields = ["Cache-Control": "public, max-age=600"],
    keeper: Freshness.Keeper = Freshness.Keeper()
  ) -> Freshness {
    Freshness(
      status: 200, headers: headers, requestTime: now, responseTime: now, keeper: keeper
    ).behind(
      redirections.map {
        ($0.0, $0.1, now - seconds, now - seconds)
      }, keeper: keeper)
  }

  static let lifetimes: [(Int, HeaderFields, Double)] = [
    (302, ["Cache-Control": "max-age=60"], 60), (302, ["Cache-Control": "max-age=6000"], 600),
    (302, ["Cache-Control": "max-age=60", "Age": "20"], 40),
    (302, ["Cache-Control": "no-store"], 0), (302, ["Cache-Control": "no-cache, max-age=60"], 0),
    (307, ["Cache-Control": "max-age=0"], 0), (303, ["Expires": "0"], 0),
    (302, ["Cache-Control": "max-age=60", "Vary": "*"], 0),
    // A permanent redirect needs no freshness of its own; a temporary one is followed again soon.
    (301, [:], 600), (308, [:], 600), (302, [:], 300), (303, [:], 300), (307, [:], 300),
    (301, ["Cache-Control": "max-age=60"], 60), (308, ["Cache-Control": "no-store"], 0),
  ]

  @Test(arguments: lifetimes)
  func `A response is fresh for no longer than the redirect to it`(
    _ status: Int, _ headers: HeaderFields, _ expected: Double
  ) {
    #expect(Self.behind([(status, headers)]).lifetime == expected)
  }

  @Test func `The response's own fields state more if a redirect bounds its freshness`() {
    #expect(Self.behind([(302, ["Cache-Control": "max-age=60"])]).isBounded == true)
    #expect(Self.behind([(302, ["Cache-Control": "max-age=6000"])]).isBounded == nil)
    #expect(Self.behind([(302, ["Cache-Control": "max-age=6000, no-cache"])]).isBounded == true)
    #expect(
      Self.behind([(302, ["Cache-Control": "max-age=6000, must-revalidate"])]).isBounded == true)
    #expect(Self.behind([(302, [:])]).isBounded == true)
    #expect(Self.behind([(301, [:])]).isBounded == nil)
  }

  @Test func `The redirect of a chain that is fresh for the shortest time counts`() {
    let long = (302, ["Cache-Control": "max-age=60"] as HeaderFields)
    let short = (307, ["Cache-Control": "max-age=5"] as HeaderFields)
    #expect(Self.behind([long, short]).lifetime == 5)
    #expect(Self.behind([short, long]).lifetime == 5)
    #expect(Self.behind([]).lifetime == 600)
  }

  @Test func `A redirect of some time ago is that much older`() {
    let redirect = (302, ["Cache-Control": "max-age=60"] as HeaderFields)
    #expect(Self.behind([redirect], took: 45).lifetime == 15)
    #expect(Self.behind([redirect], took: 90).lifetime == 0)
    #expect(Self.behind([(302, [:])], took: 4).lifetime == 296)
    let shared = Freshness.Keeper(isShared: true)
    #expect(Self.behind([(302, [:])], took: 4, keeper: shared).lifetime == 6)
    // The response's own age is reported, not the redirect's.
    let aged = Self.behind([redirect], took: 45, ["Cache-Control": "max-age=600", "Age": "100"])
    #expect(aged.age(at: Self.now) == 100 && aged.remaining(at: Self.now) == 15)
  }

  @Test func `A redirect that has to be revalidated holds for the response too`() {
    #expect(Self.behind([(302, ["Cache-Control": "max-age=9, must-revalidate"])]).mustRevalidate)
    #expect(Self.behind([(302, ["Cache-Control": "no-cache"])]).mustRevalidate)
    #expect(!Self.behind([(302, ["Cache-Control": "max-age=9"])]).mustRevalidate)
  }

  @Test func `A stale response behind a redirect is not served while it is confirmed`() {
    let response: HeaderFields = [
      "Cache-Control": "max-age=600, stale-if-error=60, stale-while-revalidate=60"
    ]
    let freshness = Self.behind([(302, ["Cache-Control": "max-age=600"])], response)
    #expect(freshness.staleIfError == 60 && freshness.staleWhileRevalidate == nil)
  }

  static let personal: [HeaderFields] = [
    ["Cache-Control": "private, max-age=60"], ["Cache-Control": "no-store"],
    ["Cache-Control": "public, max-age=60", "Set-Cookie": "a=b"],
  ]

  @Test(arguments: personal)
  func `A shared cache stores nothing behind a redirect that it may not store`(
    _ headers: HeaderFields
  ) {
    #expect(Self.behind([(302, headers)], keeper: Freshness.Keeper(isShared: true)).noStore)
    #expect(!Self.behind([(302, headers)]).noStore)
  }

  @Test func `A redirect for credentials or cookies is stored only if it is for everybody`() {
    var credentials = Freshness.Keeper(isShared: true)
    credentials.isAuthorized = true
    var cookies = Freshness.Keeper(isShared: true)
    cookies.hasCookies = true
    for keeper in [credentials, cookies] {
      #expect(Self.behind([(302, ["Cache-Control": "max-age=60"])], keeper: keeper).noStore)
      #expect(Self.behind([(302, [:])], keeper: keeper).noStore)
      let open = Self.behind([(302, ["Cache-Control": "public, max-age=60"])], keeper: keeper)
      #expect(!open.noStore && open.mayDifferByCookies == nil)
    }
    let unstated = Self.behind([(302, [:])], keeper: Freshness.Keeper(isShared: true))
    #expect(!unstated.noStore && unstated.mayDifferByCookies == true)
  }

  static let varying: [(HeaderFields, [HeaderFields], String?)] = [
    ([:], [[:]], nil), ([:], [["Vary": "Accept-Language"]], "accept-language"),
    (["Vary": "Accept"], [["Vary": "User-Agent, Accept"]], "Accept, user-agent"),
    (["Vary": "Accept"], [["Vary": "Accept"]], "Accept"),
    (["Vary": "Accept"], [["Vary": "Cookie"], ["Vary": "Origin"]], "Accept, cookie, origin"),
    // By these no two requests of the cache differ.
    ([:], [["Vary": "Accept-Encoding, Range"]], nil),
  ]

  @Test(arguments: varying)
  func `A response varies by what its redirects vary by`(
    _ fields: HeaderFields, _ redirections: [HeaderFields], _ expected: String?
  ) {
    let redirections = redirections.map {
      (302, $0, Self.now, Self.now)
    }
    #expect(fields.varying(by: redirections)["Vary"] == expected)
  }
}
