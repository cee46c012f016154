// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The effect of cookies on a response: whether a shared cache may keep it.
@Suite struct CookieFreshnessTests {
  static let now = Date(timeIntervalSince1970: 1_700_000_000)

  private func isKept(
    _ fields: HeaderFields, asksWithCookies: Bool, isShared: Bool = true
  ) -> Bool {
    !Freshness(
      status: 200, headers: fields, requestTime: Self.now, responseTime: Self.now,
      keeper: .init(isShared: isShared, hasCookies: asksWithCookies)
    ).noStore
  }

  @Test(arguments: [
    ("", false), ("max-age=60", false), ("max-age=60, must-revalidate", false),
    ("max-age=60, immutable", false), ("public", true), ("public, max-age=60", true),
    ("s-maxage=60", true), ("public, private", false),
  ])
  func `A shared cache keeps a response to cookies only if it is shareable`(
    _ control: String, _ isKept: Bool
  ) {
    let fields: HeaderFields = control.isEmpty ? [:] : ["Cache-Control": control]
    #expect(self.isKept(fields, asksWithCookies: true) == isKept)
    #expect(self.isKept(fields, asksWithCookies: true, isShared: false))
    #expect(self.isKept(fields, asksWithCookies: false) == !control.contains("private"))
  }

  @Test func `CDN-Cache-Control outranks Cache-Control for requests with cookies`() {
    let targeted: HeaderFields = ["Cache-Control": "x", "CDN-Cache-Control": "public, max-age=9"]
    #expect(isKept(targeted, asksWithCookies: true))
    let withdrawn: HeaderFields = ["Cache-Control": "public", "CDN-Cache-Control": "max-age=60"]
    #expect(!isKept(withdrawn, asksWithCookies: true))
  }

  @Test(arguments: ["", "max-age=60", "public, max-age=60", "s-maxage=60"])
  func `A shared cache does not store a response with Set-Cookie`(_ control: String) {
    let fields: HeaderFields = ["Cache-Control": control, "Set-Cookie": "a=b"]
    #expect(!isKept(fields, asksWithCookies: false))
    #expect(isKept(fields, asksWithCookies: false, isShared: false))
  }

  @Test func `A confirmation with Set-Cookie forbids storing, one without does not`() {
    let stored: HeaderFields = ["Cache-Control": "max-age=60", "ETag": "\"a\""]
    let keeper = Freshness.Keeper(isShared: true)
    func confirmed(_ news: HeaderFields) -> Freshness {
      let merged = StoredFields.merged(stored, with: news, isConfirmation: true)
      return Freshness(
        status: 200, headers: merged, confirmation: news, requestTime: Self.now,
        responseTime: Self.now, keeper: keeper)
    }
    #expect(confirmed(["Set-Cookie": "a=b"]).noStore)
    #expect(!confirmed([:]).noStore)
  }
}
