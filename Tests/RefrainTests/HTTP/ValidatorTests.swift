// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite struct ValidatorTests {
  static let monday = "Mon, 06 Nov 2023 08:49:37 GMT"
  static let aSecondLater = "Mon, 06 Nov 2023 08:49:38 GMT"

  @Test(
    arguments: [
      ("\"a\"", .strong), ("\"\"", .strong), ("\"é!#~\"", .strong), ("W/\"a\"", .weak),
      ("W/\"\"", .weak), ("a", .malformed), ("\"", .malformed), ("\"a", .malformed),
      ("a\"", .malformed), ("w/\"a\"", .malformed), ("W/a", .malformed),
      ("\"a\", \"b\"", .malformed),
      ("\"a b\"", .malformed), ("W/ \"a\"", .malformed), ("\"a\"b\"", .malformed),
    ] as [(String, EntityTag.Kind)])
  func `An entity tag is parsed as strong, weak or malformed`(
    _ text: String, _ kind: EntityTag.Kind
  ) {
    #expect(EntityTag(text).kind == kind)
  }

  static let cases1: [(HeaderFields, String?)] = [
    (["ETag": "\"a\""], "\"a\""),
    (["ETag": "\"a\"", "Last-Modified": monday, "Date": aSecondLater], "\"a\""),
    (["ETag": "W/\"a\""], nil),
    (["ETag": "W/\"a\"", "Last-Modified": monday, "Date": aSecondLater], nil),
    (["ETag": "unquoted"], nil),
    (["Last-Modified": monday, "Date": aSecondLater], monday),
    (["Last-Modified": monday, "Date": monday], nil),
    (["Last-Modified": aSecondLater, "Date": monday], nil),
    (["Last-Modified": monday], nil),
    (["Last-Modified": "yesterday", "Date": monday], nil),
    (HeaderFields(), nil),
  ]

  @Test(arguments: cases1)
  func `If-Range contains only a strong validator`(_ headers: HeaderFields, _ expected: String?) {
    #expect(Validator(headers: headers).ifRange == expected)
  }

  @Test func `A conditional request carries every valid validator`() {
    let both = Validator(headers: ["etag": "W/\"a\"", "last-modified": Self.monday])
    #expect(both.conditional["If-None-Match"] == "W/\"a\"")
    #expect(both.conditional["If-Modified-Since"] == Self.monday)
    let unquoted = Validator(headers: ["ETag": "abc"])
    #expect(unquoted.conditional.isEmpty)
    #expect(!unquoted.isEmpty)
    #expect(Validator(headers: [:]).conditional.isEmpty)
  }

  @Test func `A validator that cannot be sent back is not stored`() {
    let hostile = Validator(headers: [
      "ETag": "\"a\r\nX: y\"", "Last-Modified": String(repeating: "x", count: 10_000),
    ])
    #expect(hostile.isEmpty)
    #expect(Validator(headers: ["ETag": "\"\(String(repeating: "a", count: 5000))\""]).isEmpty)
    #expect(Validator(headers: ["ETag": "  "]).isEmpty)
  }

  @Test func `The ETag is displayed, else the date`() {
    #expect(Validator(etag: "\"a\"", lastModified: "x").display == "\"a\"")
    #expect(Validator(lastModified: "x").display == "x")
    #expect(Validator(etag: "W/\"a\"").display == "W/\"a\"")
    #expect(Validator().display == nil)
  }

  @Test(
    arguments: [
      (Validator(etag: "\"a\""), Validator(etag: "\"a\""), .same),
      (
        Validator(etag: "\"a\"", lastModified: "x"), Validator(etag: "\"a\"", lastModified: "y"),
        .same
      ),
      (Validator(etag: "\"a\""), Validator(etag: "\"b\""), .different),
      (
        Validator(etag: "\"a\"", lastModified: "x"), Validator(etag: "\"b\"", lastModified: "x"),
        .different
      ),
      (Validator(etag: "abc"), Validator(etag: "abc"), .same),
      (Validator(etag: "abc"), Validator(etag: "abd"), .different),
      (Validator(etag: "abc"), Validator(etag: "\"abc\""), .different),
      (Validator(etag: "W/abc"), Validator(etag: "W/abc"), .weaklySame),
      (Validator(etag: "W/\"a\""), Validator(etag: "W/\"a\""), .weaklySame),
      (Validator(etag: "W/\"a\""), Validator(etag: "\"a\""), .weaklySame),
      (
        Validator(etag: "W/\"a\"", lastModified: "x"),
        Validator(etag: "W/\"a\"", lastModified: "x"), .weaklySame
      ),
      (
        Validator(etag: "W/\"a\"", lastModified: "x"),
        Validator(etag: "W/\"a\"", lastModified: "y"), .different
      ),
      (Validator(etag: "W/\"a\""), Validator(etag: "W/\"b\""), .different),
      (Validator(lastModified: "x"), Validator(lastModified: "x"), .same),
      (Validator(lastModified: "x"), Validator(lastModified: "y"), .different),
      (Validator(etag: "\"a\"", lastModified: "x"), Validator(lastModified: "x"), .weaklySame),
      (Validator(etag: "\"a\"", lastModified: "x"), Validator(lastModified: "y"), .different),
      (Validator(etag: "\"a\""), Validator(lastModified: "x"), .unknown),
      (Validator(etag: "\"a\""), Validator(), .unknown),
      (Validator(), Validator(), .unknown),
    ] as [(Validator, Validator, Validator.Match)])
  func `Validators compare the same in both directions`(
    _ one: Validator, _ other: Validator, _ expected: Validator.Match
  ) {
    #expect(one.matches(other) == expected)
    #expect(other.matches(one) == expected)
  }
}
