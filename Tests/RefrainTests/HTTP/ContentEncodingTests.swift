// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

/// Words of Content-Encoding that name no coding.
@Suite struct ContentEncodingTests {
  private static let cases: [(field: String, codings: [String])] = [
    ("none", []), ("identity", []), ("binary", []), ("utf-8", []), ("UTF-8", []), ("utf8", []),
    ("aws-chunked", []), ("AWS-Chunked", []), ("", []), (" , ,", []), ("none, identity", []),
    ("gzip", ["gzip"]), ("aws-chunked,gzip", ["gzip"]), ("GZip , aws-chunked", ["gzip"]),
    ("gzip, br", ["gzip", "br"]), (",none,,br,", ["br"]), ("nonesuch", ["nonesuch"]),
    ("x-none", ["x-none"]), ("none;q=1", ["none;q=1"]),
  ]

  @Test(arguments: cases.indices) func `Only codings count`(_ index: Int) {
    let (field, codings) = Self.cases[index]
    var headers: HeaderFields = ["Content-Encoding": field, "ETag": "\"a\""]
    #expect(headers.contentCodings == codings)
    headers.dropNoCodings()
    #expect(
      headers["Content-Encoding"]?.lowercased()
        == (codings.isEmpty ? nil : codings.joined(separator: ", ")))
    #expect(headers["ETag"] == "\"a\"")
  }

  @Test func `Several fields are one list`() {
    var headers = HeaderFields([("Content-Encoding", "none"), ("content-encoding", "gzip")])
    #expect(headers.contentCodings == ["gzip"])
    headers.dropNoCodings()
    #expect(headers.values(of: "Content-Encoding") == ["gzip"])
  }

  @Test func `A field of codings alone stays as it is`() {
    var headers: HeaderFields = ["Content-Encoding": "GZip", "ETag": "\"a\""]
    headers.dropNoCodings()
    #expect(headers.fields.map(\.value) == ["GZip", "\"a\""])
    #expect(HeaderFields().contentCodings.isEmpty)
  }
}
