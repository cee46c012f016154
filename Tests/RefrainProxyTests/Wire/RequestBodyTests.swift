// SPDX-License-Identifier: MIT
import NIOCore
import Testing

@testable import RefrainProxy

@Suite struct RequestBodyTests {
  private func chunked(_ body: String) -> ParsedRequests {
    ParsedRequests("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n" + body)
  }

  @Test func `A body of known length is followed by the next request`() {
    let parsed = ParsedRequests(
      "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcdeGET /b HTTP/1.0\r\n\r\n")
    #expect(parsed.httpError == nil)
    #expect(parsed.requests.map(\.body) == [Array("abcde".utf8), []])
    #expect(parsed.requests.map(\.framing) == [.length(5), .none])
    #expect(parsed.isEveryRequestComplete)
  }

  @Test func `An empty body ends at once`() {
    let parsed = ParsedRequests("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
    #expect(parsed.requests.map(\.isComplete) == [true])
    #expect(parsed.requests.map(\.framing) == [.length(0)])
  }

  @Test func `Chunks are joined, extensions and trailers dropped`() {
    let parsed = chunked(
      "5;a=b;c=\"d e\"\r\nabcde\r\n00A\r\n0123456789\r\n0;x\r\nX: y\r\nZ:\r\n\r\nGET / HTTP/1.0\r\n\r\n"
    )
    #expect(parsed.httpError == nil)
    #expect(parsed.requests.map(\.body) == [Array("abcde0123456789".utf8), []])
    #expect(parsed.requests.map(\.framing) == [.chunked, .none])
    #expect(parsed.isEveryRequestComplete)
  }

  @Test(arguments: [
    "\r\n", "+5\r\nabcde\r\n", "-5\r\nabcde\r\n", "0x5\r\nabcde\r\n", " 5\r\nabcde\r\n",
    "5 \r\nabcde\r\n", "5 ;a\r\nabcde\r\n", "g\r\n", ";a\r\n", "5\nabcde\r\n",
    "5;a\rb\r\nabcde\r\n",
    "5;a\nabcde\r\n", "5\r\nabcdef\r\n", "5\r\nabcde\n", "5\r\nabcde0\r\n", "5\r\nabcde\rx",
    "8000000000000000\r\n", "10000000000000000\r\n", "FFFFFFFFFFFFFFFFFFFFFF\r\n",
    "0\r\nX : y\r\n\r\n", "0\r\n X: y\r\n\r\n", "0\r\nX: y\n\r\n", "0\r\n\n",
    "0\r\nX: \u{0}\r\n\r\n",
    "5;a=\u{0}\r\nabcde\r\n",
  ])
  func `Malformed chunks are refused`(_ body: String) {
    let parsed = chunked(body)
    #expect(parsed.httpError?.status == 400)
    #expect(parsed.requests.map(\.isComplete) == [false])
  }

  @Test func `A chunk line has a limited length`() {
    let long = String(repeating: "a", count: 252)
    #expect(chunked("1;\(long)\r\nx\r\n0\r\n\r\n").httpError == nil)
    #expect(chunked("1;\(long)a\r\nx\r\n0\r\n\r\n").httpError?.status == 400)
    #expect(chunked(String(repeating: "0", count: 256)).httpError?.status == 400)
  }

  @Test func `Trailers have the same limits as a head`() {
    let field = "X: \(String(repeating: "a", count: 1000))\r\n"
    #expect(chunked("0\r\n\(String(repeating: field, count: 32))\r\n").httpError == nil)
    #expect(chunked("0\r\n\(String(repeating: field, count: 33))\r\n").httpError?.status == 431)
    let small = String(repeating: "X: a\r\n", count: 128)
    #expect(chunked("0\r\n\(small)\r\n").httpError == nil)
    #expect(chunked("0\r\n\(small)X: a\r\n\r\n").httpError?.status == 431)
  }

  @Test func `Up to four empty lines before a request are ignored`() {
    let request = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    let lines = String(repeating: "\r\n", count: 4)
    let parsed = ParsedRequests(lines + request + lines + request)
    #expect(parsed.httpError == nil)
    #expect(parsed.requests.count == 2)
    #expect(ParsedRequests(lines + "\r\n" + request).httpError?.status == 400)
    #expect(ParsedRequests("\r" + request).httpError?.status == 400)
  }

  @Test func `A connection is idle until the first byte of a request`() throws {
    var parser = RequestParser()
    var buffer = ByteBuffer()
    #expect(parser.isAtStart)
    #expect(try parser.next(&buffer) == nil)
    #expect(parser.isAtStart)
    buffer.writeString("G")
    #expect(try parser.next(&buffer) == nil)
    #expect(!parser.isAtStart)
    buffer.writeString("ET / HTTP/1.0\r\n\r\n")
    #expect(try parser.next(&buffer) != nil)
    #expect(!parser.isAtStart)
    #expect(try parser.next(&buffer) != nil)
    #expect(parser.isAtStart)
    #expect(buffer.readableBytes == 0)
  }

  @Test func `A stream is parsed the same byte by byte and all at once`() {
    let texts = [
      "\r\n\r\nGET /a HTTP/1.1\r\nHost: a\r\nX:  y \r\n\r\nGET /b HTTP/1.0\r\n\r\n",
      "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcdeGET /b HTTP/1.0\r\n\r\n",
      "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "5;x\r\nabcde\r\n3\r\nfgh\r\n0\r\nA: b\r\n\r\nGET /b HTTP/1.0\r\n\r\n",
      "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcdex\r\n",
    ]
    for text in texts {
      #expect(ParsedRequests(text.utf8.map { [$0] }) == ParsedRequests(text))
    }
  }

  @Test func `A head that arrives in many pieces is not scanned repeatedly`() {
    // Byte by byte, a head of 8 MiB would take hours.
    var limits = RequestParser.Limits()
    limits.headBytes = 16 << 20
    let value = [UInt8](repeating: UInt8(ascii: "a"), count: 4096)
    var pieces = [Array("GET / HTTP/1.0\r\nX: ".utf8)]
    pieces += Array(repeating: value, count: 512)
    pieces += Array(repeating: [UInt8(ascii: "b")], count: 100_000)
    pieces.append(Array("\r\n\r\n".utf8))
    let parsed = ParsedRequests(pieces, limits: limits)
    #expect(parsed.httpError == nil)
    #expect(parsed.requests.map(\.isComplete) == [true])
  }
}
