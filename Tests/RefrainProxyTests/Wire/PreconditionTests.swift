// SPDX-License-Identifier: MIT
import Refrain
import Testing

@testable import RefrainProxy

@Suite struct PreconditionTests {
  private let date = "Sun, 06 Nov 1994 08:49:37 GMT"

  private func outcome(
    _ fields: HeaderFields, etag: String? = "\"a\"", isStrong: Bool = true,
    isGetOrHead: Bool = true,
    hasRange: Bool = true
  ) -> Preconditions.Outcome? {
    Preconditions(fields: fields)?.evaluate(
      isGetOrHead: isGetOrHead, hasRange: hasRange, etag: etag, lastModified: date,
      isStrongLastModified: isStrong)
  }

  @Test func `A request without valid conditions has no preconditions`() {
    #expect(Preconditions(fields: ["Range": "bytes=0-1", "If": "x"]) == nil)
    #expect(Preconditions(fields: ["If-Modified-Since": "yesterday"]) == nil)
  }

  @Test(arguments: ["*", "\"a\"", " \"b\", \"a\"", "\"b,\",\"a\"", ",,\"a\",", "W/\"b\", \"a\""])
  func `If-Match succeeds if one strong tag matches`(_ value: String) {
    #expect(outcome(["If-Match": value]) == .proceed)
  }

  @Test(arguments: ["\"b\"", "W/\"a\"", "\"x,\"a\",y\"", "a", "", "\"A\""])
  func `If-Match fails if no strong tag matches`(_ value: String) {
    #expect(outcome(["If-Match": value]) == .failed)
    #expect(outcome(["If-Match": "W/\"a\""], etag: "W/\"a\"") == .failed)
    #expect(outcome(["If-Match": "\"a\""], etag: nil) == .failed)
    #expect(outcome(["If-Match": "*"], etag: nil) == .proceed)
  }

  @Test(arguments: ["*", "\"a\"", "W/\"a\"", "\"b\", W/\"a\"", "\"b,c\",\"a\""])
  func `If-None-Match is answered 304 if one tag matches, even weakly`(_ value: String) {
    #expect(outcome(["If-None-Match": value]) == .notModified)
    #expect(outcome(["If-None-Match": value], etag: "W/\"a\"") == .notModified)
    #expect(outcome(["If-None-Match": value], isGetOrHead: false) == .failed)
  }

  @Test func `If-None-Match without a match proceeds and overrides If-Modified-Since`() {
    #expect(outcome(["If-None-Match": "\"b\"", "If-Modified-Since": date]) == .proceed)
    #expect(outcome(["If-None-Match": "\"b\", \"a,\""]) == .proceed)
    #expect(outcome(["If-None-Match": "a,b"], etag: "b") == .notModified)
  }

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "Mon, 07 Nov 1994 08:49:37 GMT",
  ])
  func `An unmodified resource is answered 304`(_ since: String) {
    #expect(outcome(["If-Modified-Since": since]) == .notModified)
    #expect(outcome(["If-Modified-Since": since], isGetOrHead: false) == .proceed)
    #expect(outcome(["If-Unmodified-Since": since]) == .proceed)
  }

  @Test func `A modified resource passes If-Modified-Since and fails If-Unmodified-Since`() {
    let before = "Sun, 06 Nov 1994 08:49:36 GMT"
    #expect(outcome(["If-Modified-Since": before]) == .proceed)
    #expect(outcome(["If-Unmodified-Since": before]) == .failed)
    #expect(outcome(["If-Unmodified-Since": before, "If-Match": "\"a\""]) == .proceed)
    #expect(outcome(["If-Match": "\"a\"", "If-None-Match": "\"a\""]) == .notModified)
  }

  @Test func `If-Range requires the exact strong tag or date`() {
    #expect(outcome(["If-Range": "\"a\""]) == .proceed)
    #expect(outcome(["If-Range": "\"b\""]) == .ignoreRange)
    #expect(outcome(["If-Range": "W/\"a\""], etag: "W/\"a\"") == .ignoreRange)
    #expect(outcome(["If-Range": "\"a\", \"b\""]) == .ignoreRange)
    #expect(outcome(["If-Range": "*"]) == .ignoreRange)
    #expect(outcome(["If-Range": date]) == .proceed)
    #expect(outcome(["If-Range": "Sunday, 06-Nov-94 08:49:37 GMT"]) == .proceed)
    #expect(outcome(["If-Range": date], isStrong: false) == .ignoreRange)
    #expect(outcome(["If-Range": "Mon, 07 Nov 1994 08:49:37 GMT"]) == .ignoreRange)
    #expect(outcome(["If-Range": "yesterday"]) == .ignoreRange)
    #expect(outcome(["If-Range": "\"b\""], hasRange: false) == .proceed)
    #expect(outcome(["If-Range": "\"b\"", "If-None-Match": "\"a\""]) == .notModified)
  }
}
