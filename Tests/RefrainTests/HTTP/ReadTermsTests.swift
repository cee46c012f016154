// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The terms on which stored bytes are read, as a request states them (RFC 9111 §5.2.1).
@Suite struct ReadTermsTests {
  static let now = Date(timeIntervalSince1970: 1_700_000_000)

  private static func terms(_ directives: String) -> ReadTerms {
    var terms = ReadTerms()
    terms.directives = RequestDirectives(["Cache-Control": directives])
    return terms
  }

  /// Responses fresh for 60 seconds, at the age given.
  static let cases: [(String, age: Double, must: Bool, isAccepted: Bool)] = [
    ("", 59, false, true), ("", 60, false, false), ("no-cache", 0, false, false),
    ("max-age=10", 10, false, true), ("max-age=\"10\"", 11, false, false),
    ("max-age=60, max-age=100", 70, false, false), ("max-age=x", 59, false, true),
    ("min-fresh=20", 40, false, true), ("min-fresh=20, min-fresh=9", 41, false, false),
    ("max-stale=10", 70, false, true), ("max-stale=10", 71, false, false),
    ("max-stale=10, max-stale", 71, false, false), ("max-stale", 1e9, false, true),
    ("max-stale=x", 61, false, false), ("max-stale=", 61, false, false),
    ("max-stale=\"\"", 61, false, false),
    ("max-stale", 61, true, false), ("max-stale, max-age=65", 64, false, true),
    ("max-stale, max-age=65", 66, false, false),
  ]

  @Test(arguments: cases.indices)
  func `Stored bytes are accepted according to the request's directives`(index: Int) {
    let (directives, age, must, isAccepted) = Self.cases[index]
    let freshness = Freshness(confirmedAt: Self.now - age, lifetime: 60, mustRevalidate: must)
    #expect(Self.terms(directives).accept(freshness, at: Self.now) == isAccepted)
  }

  @Test(arguments: [(5, true), (10, false), (15, false)])
  func `Bytes from before a change are not accepted`(_ age: Double, _ isAccepted: Bool) {
    var terms = ReadTerms()
    terms.notBefore = Self.now - 10
    let freshness = Freshness(confirmedAt: Self.now - age, lifetime: 60)
    #expect(terms.accept(freshness, at: Self.now) == isAccepted)
  }

  @Test(arguments: ["", "max-age=1000", "max-stale"])
  func `Outdated bytes are never accepted`(_ directives: String) {
    let outdated = Freshness(confirmedAt: Self.now, lifetime: 60, isOutdated: true)
    #expect(!Self.terms(directives).accept(outdated, at: Self.now))
  }

  @Test func `Only a client refuses unconfirmed bytes that must be revalidated`() {
    let free = Freshness(confirmedAt: Self.now, lifetime: 60)
    let bound = Freshness(confirmedAt: Self.now, lifetime: 60, mustRevalidate: true)
    #expect(ReadTerms().acceptUnconfirmed(bound, at: Self.now))
    let client = ReadTerms.ofClient
    #expect(client.acceptUnconfirmed(free, at: Self.now))
    #expect(!client.acceptUnconfirmed(bound, at: Self.now))
    var insisting = client
    insisting.directives.noCache = true
    #expect(!insisting.acceptUnconfirmed(free, at: Self.now))
  }
}

/// Freshness by the kind of cache and the request's credentials (RFC 9111 §3, §3.5, §5.2.2).
@Suite struct KeeperFreshnessTests {
  static let now = Date(timeIntervalSince1970: 1_700_000_000)

  struct Case: Sendable {
    var control: String
    var isShared = true
    var isAuthorized = false
    var lifetime: Double = 60
    var noStore = false
    var must = false
  }

  static let cases = [
    Case(control: "max-age=60"), Case(control: "max-age=60", isShared: false),
    Case(control: "max-age=60, private", noStore: true),
    Case(control: "max-age=60, private=\"X\"", noStore: true),
    Case(control: "max-age=60, private", isShared: false),
    Case(control: "max-age=9, s-maxage=60", must: true),
    Case(control: "max-age=60, s-maxage=9", isShared: false),
    Case(control: "max-age=60, proxy-revalidate", must: true),
    Case(control: "max-age=60, proxy-revalidate", isShared: false),
    Case(control: "max-age=60, must-revalidate", isShared: false, must: true),
    Case(control: "max-age=60", isAuthorized: true, noStore: true),
    Case(control: "max-age=60", isShared: false, isAuthorized: true),
    Case(control: "max-age=60, public", isAuthorized: true),
    Case(control: "max-age=60, must-revalidate", isAuthorized: true, must: true),
    Case(control: "s-maxage=60", isAuthorized: true, must: true),
    Case(control: "max-age=60, public, private", isAuthorized: true, noStore: true),
    Case(control: "max-age=60, proxy-revalidate", isAuthorized: true, noStore: true, must: true),
    Case(control: "no-store", lifetime: 0, noStore: true),
    Case(control: "no-cache, max-age=60", lifetime: 0, must: true),
  ]

  @Test(arguments: cases)
  func `A shared cache stores less and revalidates more than a private one`(_ given: Case) {
    let freshness = Freshness(
      status: 200, headers: ["Cache-Control": given.control], requestTime: Self.now,
      responseTime: Self.now,
      keeper: .init(isShared: given.isShared, isAuthorized: given.isAuthorized))
    #expect(freshness.noStore == given.noStore)
    #expect(freshness.mustRevalidate == given.must)
    #expect(freshness.lifetime == given.lifetime)
  }

  @Test func `The freshness after a confirmation follows from the merged fields`() {
    let stored: HeaderFields = ["Cache-Control": "max-age=60, must-revalidate", "ETag": "\"a\""]
    let news: HeaderFields = ["Expires": HTTPDate.format(Self.now + 9), "Age": "5"]
    let after = Freshness(
      status: 200, headers: StoredFields.merged(stored, with: news, isConfirmation: true),
      confirmation: news, requestTime: Self.now, responseTime: Self.now)
    #expect(after.lifetime == 60 && after.mustRevalidate)
    #expect(after.age(at: Self.now) == 5)
    #expect(after.isFresh(at: Self.now))
  }
}
