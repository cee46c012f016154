// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Which URLs identify one resource (RFC 3986 §6.2.2), and which do not.
struct URINormalizingTests {
  private func key(_ text: String) throws -> String {
    CacheKey(url: try #require(URL(text: text), "\(text)")).rawValue
  }

  @Test(arguments: [
    ("HTTP://Example.ORG/A", "http://example.org/A"),
    ("http://example.org:80/a", "http://example.org/a"),
    ("https://example.org:443/a", "https://example.org/a"),
    ("http://example.org", "http://example.org/"),
    ("http://example.org?x", "http://example.org/?x"),
    ("http://example.org/./a/./b", "http://example.org/a/b"),
    ("http://example.org/a/../b", "http://example.org/b"),
    ("http://example.org/../a", "http://example.org/a"),
    ("http://example.org/%7Euser/%61.mp3", "http://example.org/~user/a.mp3"),
    ("http://example.org/a/%2e%2E/b", "http://example.org/b"),
    ("http://example.org/%c3%b6", "http://example.org/%C3%B6"),
    ("http://example.org/ö", "http://example.org/%C3%B6"),
    ("http://example.org/My%20Söng.mp3", "http://example.org/My%20S%C3%B6ng.mp3"),
    ("http://example.org/a?q=%7e%2f", "http://example.org/a?q=~%2F"),
    ("http://[::FFFF]:80/a", "http://[::ffff]/a"),
    ("http://bücher.example/a", "http://xn--bcher-kva.example/a"),
    ("http://me:Secret@Example.org/a#part", "http://example.org/a"),
    // Together with a combining mark, a delimiter is one character, and yet a delimiter.
    ("http://example.org/\u{301}a", "http://example.org/%CC%81a"),
    ("http://example.org/\u{301}/../a", "http://example.org/a"),
    ("http://example.org/a?\u{301}#\u{301}", "http://example.org/a?%CC%81"),
  ])
  func `Equivalent URLs have the same key`(_ text: String, _ expected: String) throws {
    #expect(try key(text) == expected)
    #expect(try key(expected) == expected)
  }

  @Test(arguments: [
    ("http://example.org/a%2Fb", "http://example.org/a/b"),
    ("http://example.org/a", "http://example.org/a/"),
    ("http://example.org/a", "http://example.org/A"),
    ("http://example.org/?a=1&b=2", "http://example.org/?b=2&a=1"),
    ("http://example.org/a?", "http://example.org/a"),
    ("http://example.org:8080/a", "http://example.org/a"),
    ("http://example.org/a", "https://example.org/a"),
    ("http://example.org//a", "http://example.org/a"),
    ("http://example.org/a%3Fb", "http://example.org/a?b"),
    ("http://example.org/a+b", "http://example.org/a%20b"),
    ("http://example.org/a%2Bb", "http://example.org/a+b"),
    ("https://example.org:80/a", "https://example.org/a"),
    ("http://example.org./a", "http://example.org/a"),
    ("http://example.org/a%zz", "http://example.org/azz"),
  ])
  func `URLs that an origin may distinguish have different keys`(_ a: String, _ b: String) throws {
    #expect(try key(a) != key(b))
  }

  @Test(arguments: [
    "HTTP://Example.ORG:80/./a", "http://h/My%20S%C3%B6ng.mp3", "http://h/%7ea?x=%2f",
  ])
  func `The URL itself keeps its spelling`(_ text: String) {
    #expect(URL(text: text)?.absoluteString == text)
  }

  @Test func `A partly encoded URL is encoded once`() {
    #expect(URL(text: "http://h/My%20Söng.mp3")?.absoluteString == "http://h/My%20S%C3%B6ng.mp3")
  }
}

/// The target in a request's first line for a URL.
struct RequestTargetTests {
  @Test(arguments: [
    ("/", "/"), ("", "/"), ("?", "/?"), ("?a=b", "/?a=b"), ("/a%20b", "/a%20b"),
    ("/%C3%A9?%E9", "/%C3%A9?%E9"), ("/%E9", "/%E9"), ("//b//", "//b//"),
    ("/%2F%41?x=/?", "/%2F%41?x=/?"), ("/a#b?c", "/a"), ("/a/?#", "/a/?"), ("/../b", "/../b"),
  ])
  func `A request target is spelled as in its URL`(_ path: String, _ target: String) throws {
    let url = try #require(URL(string: "http://u:p@a.example:8080" + path))
    let parts = try #require(WebURL(url.absoluteString))
    #expect(parts.requestTarget == target)
  }
}
