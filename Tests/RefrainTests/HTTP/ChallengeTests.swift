// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Passwords of requests, and the schemes that origins offer for them.
struct ChallengeTests {
  @Test(arguments: [
    ("Basic bWU6c2VjcmV0", "me", "secret"), ("basic  bWU6c2VjcmV0 ", "me", "secret"),
    ("Basic bWU6YTpi", "me", "a:b"), ("Basic Og==", "", ""),
  ])
  func `Basic credentials have a user and a password`(
    _ field: String, _ user: String, _ password: String
  ) {
    let login = UserPassword(authorization: field)
    #expect(login?.user == user && login?.password == password)
  }

  @Test(arguments: [
    nil, "", "Basic", "Basic bWU=", "Basic ***", "Bearer bWU6c2VjcmV0", "Digest username=\"me\"",
    "Basic bWU6AA==", "Basic bWU66Q==",
  ])
  func `Other credentials have no password`(_ field: String?) {
    #expect(UserPassword(authorization: field) == nil)
  }

  @Test(arguments: [
    ["Digest realm=\"a\", nonce=\"b\""], ["Basic realm=\"a, b\", DIGEST realm=\"a\", nonce=\"b\""],
    ["Basic realm=\"a\"", "Digest realm=\"a\""], ["Negotiate, Digest nonce=\"a\""],
    ["Basic realm=\"\\\", x\",digest\tnonce=\"a\""],
  ])
  func `A challenge with Digest is recognized`(_ values: [String]) {
    #expect(Challenges.offerDigest(HeaderFields(values.map { ("WWW-Authenticate", $0) })))
  }

  @Test(arguments: [
    [], ["Basic realm=\"Digest\""], ["Basic realm=\"a, Digest realm=b\""], ["Basic digest=\"a\""],
    ["Basic realm=\"a\", digest = x"], ["Digester realm=\"a\""], ["", ",,="], ["\"Digest a"],
  ])
  func `A challenge without Digest is recognized`(_ values: [String]) {
    #expect(!Challenges.offerDigest(HeaderFields(values.map { ("WWW-Authenticate", $0) })))
  }
}
