// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

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
      ("[::1]:81", "http://[0::1]:81/?x"),
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
    "example.com:", "example.com:*", "*.127.0.0.1", "*.[::1]", "a b", "é.example",
  ])
  func `An invalid pattern is refused with a reason and a remedy`(_ pattern: String) {
    #expect { try AllowedHosts([pattern]) } throws: { error in
      guard let error = error as? CacheProxyError else { return false }
      return error.code == .invalidConfiguration && !error.reason.isEmpty && !error.remedy.isEmpty
    }
  }
}
