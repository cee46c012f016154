// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

@Suite struct AuthorityTests {
  @Test(
    arguments: [
      ("example.com", "example.com", nil), ("EXAMPLE.com:8080", "example.com", 8080),
      ("example.com.", "example.com.", nil), ("a_b-c.example", "a_b-c.example", nil),
      ("localhost:1", "localhost", 1), ("127.0.0.1:65535", "127.0.0.1", 65_535),
      ("[::1]", "[::1]", nil), ("[2001:DB8::1]:443", "[2001:db8::1]", 443),
      ("xn--bcher-kva.example", "xn--bcher-kva.example", nil), ("1.example", "1.example", nil),
    ] as [(String, String, Int?)])
  func `An authority is split into host and port`(_ text: String, _ host: String, _ port: Int?) {
    let authority = Authority(text)
    #expect(authority?.host == host)
    #expect(authority?.port == port)
    #expect(authority?.text == text.lowercased())
  }

  @Test(arguments: [
    "", ".", "..", "a..b", ".a", "a b", "a/b", "u@a", "u:p@a", "a:", "a:0", "a:080", "a:65536",
    "a:x", "a:-1", "a:+1", "a:1:2", "::1", "[::1\0x]", "[::1%eth0]", "[::1", "[::1]x", "[::1]:",
    "[::1%25eth0]", "[x]", "[]",
    "[127.0.0.1]", "a%2eb", "é.example", "127.1", "0x7f.1", "2130706433", "127.0.0.01", "256.0.0.1",
    "127.0.0.1.", "1.2.3.4.5", "a.0x7f", "a\\b", "a?b", "a#b", "a,b", "[::1]]", "a\u{0}b",
  ])
  func `An ambiguous or malformed authority is refused`(_ text: String) {
    #expect(Authority(text) == nil)
  }

  @Test func `Spellings of one host are normalized to the same text`() {
    #expect(Authority("Example.com.")?.plainHost == "example.com")
    #expect(Authority("[0:0:0::0001]:5")?.plainHost == "[::1]")
  }
}

@Suite struct AllowedHostsTests {
  private func allows(_ patterns: [String], _ text: String) throws -> Bool {
    let url = try #require(URL(string: text))
    return try AllowedHosts(patterns).allows(url)
  }

  @Test(
    arguments: [
      ("example.com", "https://example.com/a"), ("Example.com", "http://EXAMPLE.com:8080/"),
      ("example.com", "https://example.com./"), ("*.example.com", "https://a.b.example.com"),
      ("example.com:443", "https://example.com/"), ("example.com:80", "http://example.com/"),
      ("example.com:8080", "http://u:p@example.com:8080/"), ("127.0.0.1", "http://127.0.0.1/"),
      ("[::1]:81", "http://[0::1]:81/?x"), ("bücher.example", "https://xn--bcher-kva.example/"),
    ])
  func `A host that matches a pattern is allowed`(_ pattern: String, _ url: String) throws {
    #expect(try allows(["other.example", pattern], url))
  }

  @Test(
    arguments: [
      ("example.com", "https://a.example.com/"), ("example.com", "https://example.com.evil.net/"),
      ("*.example.com", "https://example.com/"), ("*.example.com", "https://xexample.com/"),
      ("example.com:443", "http://example.com/"), ("example.com:8080", "http://example.com/"),
      ("example.com", "http://evil.net/example.com"),
      ("example.com", "http://example.com@evil.net"),
      ("example.com", "ftp://example.com/"), ("example.com", "file:///example.com"),
    ])
  func `A host that matches no pattern is not allowed`(_ pattern: String, _ url: String) throws {
    #expect(try !allows([pattern], url))
  }

  @Test func `All hosts are allowed if there are no patterns`() throws {
    #expect(try allows([], "https://example.com/"))
  }

  @Test(arguments: [
    "", "*", "*.", "**.example.com", "a*.example.com", "https://example.com", "example.com/",
    "example.com:", "example.com:*", "*.127.0.0.1", "*.[::1]", "a b",
  ])
  func `An invalid pattern is refused with a reason and a remedy`(_ pattern: String) {
    #expect { try AllowedHosts([pattern]) } throws: { error in
      guard let error = error as? CacheProxyError else { return false }
      return error.code == .invalidConfiguration && !error.reason.isEmpty && !error.remedy.isEmpty
    }
  }
}
