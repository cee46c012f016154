// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Which query parameters a key ignores, and how it spells the others.
struct CacheKeyRuleTests {
  private func url(_ text: String) throws -> URL { try #require(URL(text: text), "\(text)") }

  private func query(_ query: String, ignoring names: String...) throws -> String {
    let key = CacheKeyRule(ignoring: names).key(for: try url("http://h/a\(query)")).rawValue
    #expect(key.hasPrefix("http://h/a"))
    return String(key.dropFirst("http://h/a".count))
  }

  @Test(arguments: [
    ("?token=1", ""),
    ("?token=1&b=2", "?b=2"),
    ("?b=2&token=1", "?b=2"),
    ("?c=3&token=1&b=2&a=1", "?c=3&b=2&a=1"),
    ("?token=1&b=2&token=3&token", "?b=2"),
    ("?token", ""),
    ("?token=", ""),
    ("?token=a=b", ""),
    ("?token=1&", ""),
    ("?&token=1&b", "?&b"),
    ("?a&&token=1", "?a&"),
    ("?%74oken=1&b=%7e%2f%C3%a9", "?b=~%2F%C3%A9"),
    ("?tok%65n=1&b=a+b%20c", "?b=a+b%20c"),
    ("?token=1;b=2", ""),
    ("?b=2?token=1&token=1", "?b=2?token=1"),
  ])
  func `An ignored parameter is not in the key`(_ text: String, _ expected: String) throws {
    #expect(try query(text, ignoring: "token") == expected)
  }

  @Test(arguments: [
    "", "?", "?b=2", "?Token=1", "?tokens=1", "?token2", "?b=2;token=1", "?a=token", "?token%3D1=2",
    "?b=token=1", "?x%26token=1", "?&&", "?+token=1", "?token%25zz=1",
  ])
  func `A query without the parameter stays in the key`(_ text: String) throws {
    #expect(try query(text, ignoring: "token") == text)
  }

  @Test(arguments: [
    ("?X-Amz-Date=1&X-Amz-Signature=2&X-Am=3&x-amz-date=4", "X-Amz-*", "?X-Am=3&x-amz-date=4"),
    ("?X-Amz-=1&X-Amz-", "X-Amz-*", ""),
    ("?X%2DAmz%2DDate=1&b", "X-Amz-*", "?b"),
    ("?X-Amz-Date=1&b", "X%2DAmz%2D*", "?b"),
    ("?a=1&b=2", "*", ""),
    ("?a*=1&ab=2", "a%2A", "?ab=2"),
    ("?a*b=1&ab=2&a*bc=3", "a*b*", "?ab=2"),
    ("?a%2Fb=1&a=2", "a/b", "?a=2"),
    ("?a/b=1&a=2", "a%2Fb", "?a=2"),
    ("?%C3%B6=1&o=2", "ö", "?o=2"),
  ])
  func `A name is compared decoded, and an asterisk at its end stands for any text`(
    _ text: String, _ name: String, _ expected: String
  ) throws {
    #expect(try query(text, ignoring: name) == expected)
  }

  @Test(arguments: ["*", "_*", "_part_*", "_part_a"])
  func `Kept parameters stay in the key`(_ name: String) throws {
    let rule = CacheKeyRule(ignoring: [name], keeping: ["_part_*"])
      .ignoring([name], on: "h")
    let key = rule.key(for: try url("http://h/a?_part_a=7&%5Fpart_b=1"))
    #expect(key.rawValue == "http://h/a?_part_a=7&_part_b=1")
  }

  @Test func `Several names are ignored`() throws {
    #expect(try query("?a=1&b=2&c=3&d=4", ignoring: "d", "a", "c*") == "?b=2")
  }

  @Test(arguments: [
    ("example.org", "http://example.org/a?t=1", true),
    ("example.org", "http://EXAMPLE.org:8080/a?t=1", true),
    ("example.org", "http://me:pw@example.org./a?t=1", true),
    ("Example.ORG.", "http://example.org/a?t=1", true),
    ("example.org", "http://www.example.org/a?t=1", false),
    ("example.org", "http://example.org.evil.test/a?t=1", false),
    ("*.example.org", "http://www.example.org/a?t=1", true),
    ("*.example.org", "https://a.b.example.org:8443/a?t=1", true),
    ("*.example.org", "http://example.org/a?t=1", false),
    ("*.example.org", "http://notexample.org/a?t=1", false),
    ("bücher.example", "http://xn--bcher-kva.example/a?t=1", true),
    ("127.0.0.1", "http://127.0.0.1:81/a?t=1", true),
    ("[::1]", "http://[::1]:81/a?t=1", true),
    ("[::1]", "http://[::2]:81/a?t=1", false),
  ])
  func `A parameter may be ignored on some hosts only`(
    _ host: String, _ text: String, _ isIgnored: Bool
  ) throws {
    let url = try url(text)
    let key = CacheKeyRule().ignoring(["t"], on: host).key(for: url)
    let whole = CacheKey(url: url)
    #expect(key.rawValue == (isIgnored ? String(whole.rawValue.dropLast(4)) : whole.rawValue))
  }

  @Test(arguments: [
    "", "*", "*.", ".", "*.*.org", "a*.org", "example.org:80", "[::1]:80", "[::1", "a b", "a/b",
    "a?b", "me@example.org", "*.127.0.0.1", "*.[::1]", ".org", "a%2Eorg",
  ])
  func `Text that is no host applies to no URL`(_ host: String) throws {
    #expect(HostPattern(host) == nil)
    #expect(CacheKeyRule().ignoring(["t"], on: host) == CacheKeyRule())
  }

  @Test func `A rule for a host and one for all hosts apply together`() throws {
    let rule = CacheKeyRule(ignoring: ["t"]).ignoring(["s"], on: "h").ignoring(["u"], on: "i")
    #expect(rule.key(for: try url("http://h/?s=1&t=2&u=3")).rawValue == "http://h/?u=3")
    #expect(rule.key(for: try url("http://i/?s=1&t=2&u=3")).rawValue == "http://i/?s=1")
  }

  @Test(arguments: [
    "HTTP://me:Secret@Example.ORG:80/./%7Ea?b=%7e&a#part", "http://h", "http://h?x", "http://h/?",
    "http://h/a?b=%zz&&c", "http://[::FFFF]:81/",
  ])
  func `An empty rule is the normalized URL`(_ text: String) throws {
    let url = try url(text)
    #expect(CacheKeyRule().key(for: url) == CacheKey(url: url))
  }
}
