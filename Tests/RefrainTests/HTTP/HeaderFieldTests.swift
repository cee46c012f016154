// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite struct HeaderFieldsTests {
  @Test func `Field names are case-insensitive and keep their case`() {
    var fields: HeaderFields = ["Content-TYPE": "a", "X": "1"]
    #expect(fields["content-type"] == "a")
    fields.append("x", "2")
    #expect(fields["X"] == "1, 2")
    #expect(fields.values(of: "x") == ["1", "2"])
    #expect(fields.fields.map(\.name) == ["Content-TYPE", "X", "x"])
    fields["x"] = "3"
    #expect(fields.values(of: "X") == ["3"])
    fields["X"] = nil
    #expect(fields["x"] == nil && !fields.isEmpty)
  }
}

/// The length that a head announces.
struct ContentLengthTests {
  private func fields(_ values: [String]) -> HeaderFields {
    HeaderFields(values.map { ("content-length", $0) })
  }

  @Test(
    arguments: [
      ([], nil), (["0"], 0), ([" 5\t"], 5), (["5", "5"], 5), (["5, 5 ,5"], 5), (["05", "5"], 5),
      (["0", "00"], 0), (["9223372036854775806"], 9_223_372_036_854_775_806),
      (["9223372036854775808"], nil), (["99999999999999999999"], nil),
    ] as [([String], Int64?)])
  func `Equal lengths are one length`(_ values: [String], _ expected: Int64?) {
    #expect(fields(values).bodyLength == expected && !fields(values).hasInvalidLength)
  }

  @Test(arguments: [
    [""], ["+5"], ["-5"], ["5 5"], ["5,"], [",5"], ["5,,5"], ["0x5"], ["5;"], ["５"], ["5.0"],
    ["5, 6"], ["5", "6"], ["5", "-5"], ["99999999999999999998", "99999999999999999999"],
  ])
  func `Different lengths and other text are invalid`(_ values: [String]) {
    #expect(fields(values).hasInvalidLength && fields(values).bodyLength == nil)
  }

  @Test func `A transfer coding overrides a length`() {
    #expect((["Content-Length": "5"] as HeaderFields).bodyLength == 5)
    let both: HeaderFields = ["Content-Length": "5", "Transfer-Encoding": "chunked"]
    #expect(both.bodyLength == nil)
  }
}

@Suite struct ContentRangeTests {
  @Test(
    arguments: [
      ("bytes 0-499/1234", 0..<500, 1234), ("bytes 0-0/1", 0..<1, 1),
      ("bytes 500-999/*", 500..<1000, nil), ("bytes */1234", nil, 1234), ("bytes */0", nil, 0),
      ("BYTES 0-1/2", 0..<2, 2), ("  bytes   0-1/2 ", 0..<2, 2), ("bytes\t0-1/2", 0..<2, 2),
      ("bytes 00-01/02", 0..<2, 2),
      ("bytes 0-9223372036854775805/9223372036854775806", 0..<(.max - 1), .max - 1),
    ] as [(String, ByteRange?, Int64?)])
  func `A valid Content-Range gives the range and the total`(
    _ text: String, _ range: ByteRange?, _ total: Int64?
  ) throws {
    let parsed = try #require(ContentRange(text))
    #expect(parsed.range == range && parsed.total == total)
  }

  @Test(arguments: [
    "", "bytes", "bytes ", "bytes 0-1", "0-1/2", "bytes=0-1/2", "bytes 1-0/2", "bytes 0-2/2",
    "bytes 5-9/5", "bytes */*", "bytes -1/2", "bytes 0-/2", "bytes -/2", "bytes 0-1/", "bytes /2",
    "bytes a-b/c", "bytes 0-1/-2", "bytes +0-1/2", "items 0-1/2", "bytes 0-1/2/3", "bytes 0-1-2/3",
    "bytes 0-9223372036854775807/*", "bytes 0-18446744073709551615/*",
    "bytes 0-1/9223372036854775808", "bytes 0-1/2, bytes 0-1/2", "bytes ٠-١/٢", "bytes 0x0-0x1/2",
    "bytes 0-0/0", "bytes 0 - 1 / 2",
  ])
  func `An invalid Content-Range is rejected`(_ text: String) {
    #expect(ContentRange(text) == nil)
  }
}

@Suite struct RangeHeaderTests {
  @Test func `A Range value names the last byte if it is known`() {
    #expect((0..<Int64.max).fieldValue == "bytes=0-")
    #expect((500..<Int64.max).fieldValue == "bytes=500-")
    #expect((Int64(0)..<1).fieldValue == "bytes=0-0")
    #expect((Int64(500)..<1000).fieldValue == "bytes=500-999")
  }
}

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
}
