// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The verdict on a response by its head (RFC 9110 §13, §14, §15).
@Suite struct ResponseCheckTests {
  private let tag = Validator(etag: "\"a\"")

  private enum Kind: Equatable {
    case part(ByteRange)
    case whole, notModified, changed
    case beyondEnd(Int64?)
    case transient
    case invalid, failed
  }

  private func verdict(
    _ status: Int, _ headers: HeaderFields, asked: ByteRange = 100..<200,
    known: ResponseCheck.Known? = nil, sentIfRange: Bool = false
  ) -> Kind {
    let check = ResponseCheck(asked: asked, known: known, sentIfRange: sentIfRange)
    switch check.verdict(status: status, headers: headers, now: Date()) {
    case .part(let range, _): return .part(range)
    case .whole: return .whole
    case .notModified: return .notModified
    case .changed: return .changed
    case .beyondEnd(let length): return .beyondEnd(length)
    case .transient: return .transient
    case .invalid: return .invalid
    case .failed: return .failed
    }
  }

  private func known(_ length: Int64? = 1000, _ validator: Validator? = nil) -> ResponseCheck.Known
  {
    .init(length: length, validator: validator ?? tag)
  }

  @Test func `A 206 that begins at the requested offset is accepted`() {
    let head: HeaderFields = ["Content-Range": "bytes 100-199/1000", "ETag": "\"a\""]
    #expect(verdict(206, head) == .part(100..<200))
    #expect(verdict(206, head, known: known()) == .part(100..<200))
    #expect(verdict(206, ["Content-Range": "bytes 100-119/1000"]) == .part(100..<120))
    #expect(verdict(206, ["Content-Range": "bytes 100-199/*"]) == .part(100..<200))
  }

  @Test func `A 206 with unusable fields is refused`() {
    #expect(verdict(206, [:]) == .invalid)
    #expect(verdict(206, ["Content-Range": "bytes 101-199/1000"]) == .invalid)
    #expect(verdict(206, ["Content-Range": "bytes 0-199/1000"]) == .invalid)
    #expect(verdict(206, ["Content-Range": "bytes 100-199/150"]) == .invalid)
    #expect(verdict(206, ["Content-Range": "bytes */1000"]) == .invalid)
    #expect(verdict(206, ["Content-Range": "seconds 100-199/1000"]) == .invalid)
    #expect(
      verdict(206, ["Content-Range": "bytes 100-199/1000", "Content-Length": "99"]) == .invalid)
    #expect(
      verdict(206, ["Content-Range": "bytes 100-199/1000", "Content-Encoding": "gzip"]) == .failed)
    #expect(
      verdict(
        206, ["Content-Range": "bytes 100-199/1000", "Content-Encoding": "gzip"], known: known())
        == .invalid)
    #expect(verdict(206, ["Content-Type": "multipart/byteranges; boundary=x"]) == .invalid)
    let beyond = verdict(206, ["Content-Range": "bytes 100-1199/*"], known: known())
    #expect(beyond == .invalid)
  }

  @Test func `A 206 of another version reveals a changed resource`() {
    let part = "bytes 100-199/1000"
    #expect(verdict(206, ["Content-Range": part, "ETag": "\"b\""], known: known()) == .changed)
    // The same strong tag with another length identifies nothing.
    #expect(
      verdict(206, ["Content-Range": "bytes 100-199/1001", "ETag": "\"a\""], known: known())
        == .changed)
    // Without other evidence, the length decides.
    let untagged = known(1000, Validator())
    #expect(verdict(206, ["Content-Range": "bytes 100-199/1001"], known: untagged) == .changed)
    #expect(verdict(206, ["Content-Range": part], known: untagged) == .part(100..<200))
    let weak = known(1000, Validator(etag: "W/\"a\""))
    #expect(
      verdict(206, ["Content-Range": part, "ETag": "W/\"a\""], known: weak) == .part(100..<200))
    #expect(verdict(206, ["Content-Range": part, "ETag": "W/\"b\""], known: weak) == .changed)
    let dated = known(1000, Validator(lastModified: "Thu, 01 Jan 1970 00:00:01 GMT"))
    #expect(
      verdict(
        206, ["Content-Range": part, "Last-Modified": "Thu, 01 Jan 1970 00:00:02 GMT"],
        known: dated) == .changed)
  }

  @Test func `A 200 is either the whole resource or a changed one`() {
    #expect(verdict(200, ["Content-Length": "1000"]) == .whole)
    #expect(verdict(200, ["Transfer-Encoding": "chunked"]) == .whole)
    let same: HeaderFields = ["Content-Length": "1000", "ETag": "\"a\""]
    #expect(verdict(200, same, known: known(), sentIfRange: true) == .whole)
    let other: HeaderFields = ["Content-Length": "1000", "ETag": "\"b\""]
    #expect(verdict(200, other, known: known(), sentIfRange: true) == .changed)
    let longer: HeaderFields = ["Content-Length": "1001", "ETag": "\"a\""]
    #expect(verdict(200, longer, known: known(), sentIfRange: true) == .changed)
    #expect(verdict(200, ["Content-Length": "1000"], known: known(), sentIfRange: true) == .changed)
    #expect(verdict(200, ["Content-Length": "1000"], known: known(1000, Validator())) == .whole)
    #expect(verdict(200, ["Content-Length": "999"], known: known(1000, Validator())) == .changed)
    #expect(verdict(200, ["Content-Length": "9", "Content-Encoding": "br"]) == .failed)
    for word in ["identity", "none", "aws-chunked, UTF-8"] {
      #expect(verdict(200, ["Content-Length": "9", "Content-Encoding": word]) == .whole)
    }
    #expect(verdict(203, ["Content-Length": "1000"]) == .whole)
    #expect(verdict(203, other, known: known()) == .changed)
  }

  @Test func `A 416 reports the length unless it contradicts the request`() {
    #expect(verdict(416, ["Content-Range": "bytes */50"]) == .beyondEnd(50))
    #expect(verdict(416, [:]) == .beyondEnd(nil))
    #expect(verdict(416, ["Content-Range": "bytes */1000"]) == .invalid)
    #expect(verdict(416, ["Content-Range": "bytes */50"], known: known()) == .changed)
    #expect(verdict(416, ["ETag": "\"b\""], known: known()) == .changed)
    #expect(verdict(416, [:], known: known()) == .invalid)
    #expect(verdict(416, [:], known: known(nil)) == .beyondEnd(nil))
  }

  @Test func `Other statuses are classified as transient or failed`() {
    for status in [408, 425, 429, 500, 502, 503, 504] {
      #expect(verdict(status, [:]) == .transient)
    }
    for status in [201, 204, 205, 400, 401, 403, 404, 405, 410, 451, 501, 505] {
      #expect(verdict(status, [:]) == .failed)
    }
    #expect(verdict(304, [:]) == .notModified)
  }

  @Test func `A transient response carries its Retry-After`() {
    let check = ResponseCheck(asked: 0..<1, known: nil)
    let verdict = check.verdict(status: 503, headers: ["Retry-After": "7"], now: Date())
    guard case .transient(let error, let wait) = verdict else {
      Issue.record("\(verdict)")
      return
    }
    #expect(wait == .seconds(7))
    #expect(error.status == 503 && error.code == .status && !error.remedy.isEmpty)
  }
}
