// SPDX-License-Identifier: MIT
import NIOCore
import Refrain
import Testing

@testable import RefrainProxy

@Suite struct RequestHeadTests {
  private func value(of field: RequestHead.KnownField, in head: RequestHead) -> String? {
    head.withValue(of: field) { $0?.text }
  }

  @Test func `A player's request head is parsed`() throws {
    let text = """
      GET /a%2Fb/c.mp3?x=1&y HTTP/1.1\r
      Host: 127.0.0.1:8080\r
      rAnGe:\t bytes=0-499 \t\r
      If-Range: "abc"\r
      Accept: */*\r
      accept: \r
      User-Agent: a player é\r
      \r\n
      """
    let head = try #require(try head(text))
    #expect(head.method == "GET")
    #expect(head.isGET && !head.isHEAD)
    #expect(head.target == "/a%2Fb/c.mp3?x=1&y")
    let targetLength = head.withTarget { $0.count }
    #expect(targetLength == 18)
    #expect(head.minorVersion == 1)
    #expect(head.framing == .none)
    #expect(head.keepsAlive)
    #expect(!head.expectsContinue)
    #expect(head.marks == [.host, .range, .conditional])
    #expect(value(of: .host, in: head) == "127.0.0.1:8080")
    #expect(value(of: .range, in: head) == "bytes=0-499")
    #expect(
      head.fields
        == HeaderFields([
          ("Host", "127.0.0.1:8080"), ("rAnGe", "bytes=0-499"), ("If-Range", "\"abc\""),
          ("Accept", "*/*"), ("accept", ""), ("User-Agent", "a player é"),
        ]))
  }

  @Test func `A missing field has no value`() throws {
    let head = try #require(try head("HEAD / HTTP/1.0\r\n\r\n"))
    #expect(head.isHEAD && !head.isGET)
    #expect(head.minorVersion == 0)
    #expect(value(of: .host, in: head) == nil)
    #expect(value(of: .range, in: head) == nil)
    #expect(head.fields.isEmpty)
    #expect(head.marks == [])
  }

  @Test func `Method names are case-sensitive`() throws {
    let head = try #require(try head("get / HTTP/1.0\r\n\r\n"))
    #expect(!head.isGET)
    #expect(head.method == "get")
  }

  @Test(
    arguments: [
      ("Cache-Control: no-cache", .cacheControl), ("PRAGMA: no-cache", .cacheControl),
      ("Authorization: Basic x", .authorization), ("cookie: a=b", .cookie),
      ("Origin: https://example.com", .origin), ("Via: 1.1 x", .via),
      ("Connection: X-Thing", .connectionNominates), ("Connection: close, keep-alive", []),
      ("Connection: keep-alive , Upgrade", .connectionNominates), ("Upgrade: h2c", .upgrade),
      ("If-Match: *", .conditional), ("If-None-Match: *", .conditional),
      ("if-modified-since: x", .conditional), ("If-Unmodified-Since: x", .conditional),
      ("X-Host: a", []), ("If: a", []), ("Ranges: a", []), ("Hostx: a", []),
    ] as [(String, Marks)])
  func `Relevant fields are marked`(_ field: String, _ marks: Marks) throws {
    let head = try #require(try head("GET / HTTP/1.0\r\n\(field)\r\n\r\n"))
    #expect(head.marks == marks)
  }

  @Test(
    arguments: [
      ("1.1", "", true), ("1.1", "Connection: close\r\n", false), ("1.0", "", false),
      ("1.0", "Connection: Keep-Alive\r\n", true), ("1.1", "Connection: , x, CLOSE\r\n", false),
      ("1.0", "Connection: keep-alive\r\nConnection: close\r\n", false),
      ("1.1", "Connection: closed\r\n", true), ("1.5", "", true),
    ])
  func `The version and Connection decide whether the connection is kept`(
    _ version: String, _ field: String, _ keepsAlive: Bool
  ) throws {
    let head = try #require(try head("GET / HTTP/\(version)\r\nHost: a\r\n\(field)\r\n"))
    #expect(head.keepsAlive == keepsAlive)
  }

  @Test func `100-continue is recognized only in an HTTP 1-1 request with a body`() throws {
    let field = "Host: a\r\nExpect: 100-Continue\r\n"
    let length = "Content-Length: 5\r\n"
    #expect(try head("PUT / HTTP/1.1\r\n\(field)\(length)\r\n")?.expectsContinue == true)
    #expect(try head("PUT / HTTP/1.0\r\n\(field)\(length)\r\n")?.expectsContinue == false)
    #expect(try head("GET / HTTP/1.1\r\n\(field)\r\n")?.expectsContinue == false)
    #expect(
      throws: HTTPError(417, "The request's expectation is not supported.")
    ) { try head("PUT / HTTP/1.1\r\nHost: a\r\nExpect: a coffee\r\n\r\n") }
  }

  @Test(arguments: [
    "/", "/?", "//x", "/a//b/../c", "/%zz", "/a?b?c", "http://a", "HTTP://127.0.0.1:80/x?y",
    "http://[::1]/",
  ])
  func `A path or http URL is accepted as a target byte for byte`(_ target: String) throws {
    #expect(try head("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")?.target == target)
  }

  @Test func `An asterisk is a valid target only for OPTIONS`() throws {
    #expect(try head("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")?.target == "*")
    #expect(ParsedRequests("GET * HTTP/1.1\r\nHost: a\r\n\r\n").httpError?.status == 400)
  }
}
