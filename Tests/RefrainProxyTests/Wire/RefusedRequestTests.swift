// SPDX-License-Identifier: MIT
import NIOCore
import Testing

@testable import RefrainProxy

@Suite struct RefusedRequestTests {
  private func status(_ text: String) -> Int? {
    let parsed = ParsedRequests(text)
    #expect(parsed.isEveryRequestComplete)
    return parsed.httpError?.status
  }

  @Test(
    arguments: [
      ("GET /\r\n", 400), ("GET / \r\n", 400), ("GET  / HTTP/1.1\r\n", 400),
      ("GET /  HTTP/1.1\r\n", 400), ("GET / HTTP/1.1 \r\n", 400), (" GET / HTTP/1.1\r\n", 400),
      ("GET /a b HTTP/1.1\r\n", 400), ("GET\t/ HTTP/1.1\r\n", 400), ("G@T / HTTP/1.1\r\n", 400),
      ("/ HTTP/1.1\r\n", 400), ("GET / http/1.1\r\n", 400), ("GET / HTTP/1\r\n", 400),
      ("GET / HTTP/1.11\r\n", 400), ("GET / HTTP/11\r\n", 400), ("GET / HTTP/x.1\r\n", 400),
      ("GET / HTTP/2.0\r\n", 505), ("PRI * HTTP/2.0\r\n", 505), ("GET / HTTP/0.9\r\n", 505),
      ("GET /#a HTTP/1.1\r\n", 400), ("GET /é HTTP/1.1\r\n", 400),
      ("GET /\u{7F} HTTP/1.1\r\n", 400),
      ("GET a HTTP/1.1\r\n", 400), ("GET ftp://a/ HTTP/1.1\r\n", 400),
      ("GET https://a/ HTTP/1.1\r\n", 400), ("GET http:///a HTTP/1.1\r\n", 400),
      ("GET http:// HTTP/1.1\r\n", 400), ("GET a.example:80 HTTP/1.1\r\n", 400),
      ("CONNECT a.example:80 HTTP/1.1\r\n", 501), ("GET /\r HTTP/1.1\r\n", 400),
      ("GET / HTTP/1.1\n", 400), ("\nGET / HTTP/1.1\r\n", 400), ("\u{16}\u{3}\u{1}", 400),
    ])
  func `A malformed or unsupported request line is refused`(_ line: String, _ expected: Int) {
    #expect(status(line + "Host: a\r\n\r\n") == expected)
  }

  @Test(arguments: [
    "X : a", "X: a\rb", "X: a\r", "X: a\u{0}b", "X: a\u{1}", "X: a\u{7F}", "X", ": a", " X: a",
    "X Y: a", "Xé: a", "(X): a", "X: a\r\n b", "X: a\r\n\tb", "X: a\nY: b",
  ])
  func `A malformed field line is refused`(_ field: String) {
    #expect(status("GET / HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n") == 400)
  }

  @Test func `A head that ends in bare line feeds is refused`() {
    #expect(status("GET / HTTP/1.1\r\nHost: a\r\n\n") == 400)
    #expect(status("GET / HTTP/1.1\r\nHost: a\n\n") == 400)
  }

  @Test func `A missing, repeated or invalid Host is refused`() {
    #expect(status("GET / HTTP/1.1\r\n\r\n") == 400)
    #expect(status("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n") == 400)
    #expect(status("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n") == 400)
    for host in ["a b", "a,b", "a/b", "u@a", "a?b", "a\\b", "é"] {
      #expect(status("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n") == 400)
    }
    #expect(status("GET / HTTP/1.1\r\nHost:\r\n\r\n") == nil)
    #expect(status("GET / HTTP/1.0\r\n\r\n") == nil)
  }

  @Test(
    arguments: [
      ("Content-Length: 0\r\nContent-Length: 0", 400), ("Content-Length: 1, 1", 400),
      ("Content-Length: +1", 400), ("Content-Length: -1", 400), ("Content-Length:", 400),
      ("Content-Length: 0x1", 400), ("Content-Length: 1 1", 400),
      ("Content-Length: 9223372036854775808", 400), ("Content-Length: 99999999999999999999", 400),
      ("Content-Length: 3\r\nTransfer-Encoding: chunked", 400),
      ("Transfer-Encoding: chunked\r\nContent-Length: 3", 400),
      ("Transfer-Encoding: chunked, chunked", 400), ("Transfer-Encoding: chunked, gzip", 400),
      ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
      ("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip", 400),
      ("Transfer-Encoding: gzip, chunked", 501), ("Transfer-Encoding: gzip", 400),
      ("Transfer-Encoding: xchunked", 400), ("Transfer-Encoding: chunked,", 400),
      ("Transfer-Encoding: , chunked", 400), ("Transfer-Encoding:", 400),
      ("Transfer-Encoding: identity", 400), ("Transfer-Encoding: chunked;q=1", 400),
      ("Transfer-Encoding: \"chunked\"", 400), ("Transfer-Encoding: \u{B}chunked", 400),
      ("Range: bytes=0-1\r\nRange: bytes=0-1", 400),
    ])
  func `Ambiguous framing fields and repeated Range fields are refused`(
    _ fields: String, _ expected: Int
  ) {
    #expect(status("POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n0\r\n\r\n") == expected)
  }

  @Test func `A chunked HTTP 1-0 request is refused`() {
    #expect(status("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 400)
  }

  @Test func `An overlong target, head or field list is refused`() {
    let ok = String(repeating: "a", count: 16 * 1024 - 1)
    #expect(status("GET /\(ok) HTTP/1.1\r\nHost: a\r\n\r\n") == nil)
    #expect(status("GET /\(ok)a HTTP/1.1\r\nHost: a\r\n\r\n") == 414)
    #expect(status("GET /\(ok)\(ok)\(ok)") == 414)
    #expect(status("GET / HTTP/1.1\r\nHost: a\r\nX: \(ok)\r\nY: \(ok)\r\n\r\n") == 431)
    let fields = String(repeating: "X: a\r\n", count: 127)
    #expect(status("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n") == nil)
    #expect(status("GET / HTTP/1.1\r\nHost: a\r\n\(fields)X: a\r\n\r\n") == 431)
  }

  @Test func `The end of a connection is an error only within a request`() {
    #expect(status("") == nil)
    #expect(status("\r\n") == nil)
    #expect(status("GET / HTTP/1.1\r\nHost: a\r\n\r\n") == nil)
    for text in [
      "G", "GET / HTTP/1.1\r\n", "\r", "GET / HTTP/1.1\r\nHost: a\r\n\r",
    ] {
      #expect(ParsedRequests(text).httpError?.status == 400)
    }
    let half = ParsedRequests("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na")
    #expect(half.httpError?.status == 400)
    #expect(half.requests.first?.body == Array("a".utf8))
  }

  @Test func `The parser keeps reporting its first error`() throws {
    var parser = RequestParser()
    var buffer = ByteBuffer(string: "GET / HTTP/3.0\r\n\r\nGET / HTTP/1.0\r\n\r\n")
    let httpError = HTTPError(505, "Only HTTP/1.1 and HTTP/1.0 are supported.")
    #expect(throws: httpError) { try parser.next(&buffer) }
    #expect(throws: httpError) { try parser.next(&buffer) }
    #expect(throws: httpError) { try parser.finish() }
    #expect(!parser.isAtStart)
  }
}
