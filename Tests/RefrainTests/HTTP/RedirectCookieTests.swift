// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Cookies that the redirects of a chain set (RFC 6265).
@Suite struct RedirectCookieTests {
  private let now = Date(timeIntervalSince1970: 1_800_000_000)

  private func policy(
    _ url: String = "https://a.example.com/x", _ headers: HeaderFields = [:]
  ) throws -> RequestChain {
    RequestChain(request: OriginRequest(url: try #require(URL(string: url)), headers: headers))
  }

  /// Returns the next request after a redirect that sets cookies.
  private func follow(
    _ policy: inout RequestChain, to location: String, setting cookies: String...
  ) throws -> OriginRequest {
    var headers: HeaderFields = ["Location": location]
    for cookie in cookies { headers.append("Set-Cookie", cookie) }
    return try #require(try policy.follow(status: 302, headers: headers, at: now))
  }

  @Test(arguments: ["/x", "https://a.example.com/x#there"])
  func `A redirect that sets a cookie may lead back to the same URL`(_ location: String) throws {
    var policy = try policy()
    let next = try follow(&policy, to: location, setting: "s=1; Path=/")
    #expect(next.headers["Cookie"] == "s=1")
    #expect(next.url.host() == "a.example.com" && policy.redirections.count == 1)
  }

  @Test(arguments: ["s=1; Path=/", "t=1; Path=/other", "t=1; Domain=example.org", "t", ""])
  func `A redirect to the same URL without a new cookie is refused`(_ second: String) throws {
    var policy = try policy()
    _ = try follow(&policy, to: "/x", setting: "s=1; Path=/; Secure")
    let error = #expect(throws: MediaCacheError.self) {
      try follow(&policy, to: "/x", setting: second)
    }
    #expect(error?.code == .redirect)
  }

  @Test func `A cookie that changes with each redirect does not lengthen the chain`() throws {
    var policy = try policy()
    for hop in 1...RequestChain.longest {
      #expect(try follow(&policy, to: "/x", setting: "s=\(hop)").headers["Cookie"] == "s=\(hop)")
    }
    let error = #expect(throws: MediaCacheError.self) {
      try follow(&policy, to: "/x", setting: "s=last")
    }
    #expect(error?.code == .redirect)
  }

  @Test func `Cookies of a chain are joined to those of the user, and replace older ones`() throws {
    var policy = try policy("https://a.example.com/x", ["Cookie": "id=7; s=0;flag", "X": "y"])
    let next = try follow(&policy, to: "/y", setting: "s=1; Path=/", "t=2; Path=/")
    #expect(next.headers["Cookie"] == "id=7; flag; s=1; t=2")
    #expect(next.headers["X"] == "y")
    // They are gone where they do not belong, and the user's remain.
    _ = try follow(&policy, to: "/z", setting: "s=1; Path=/; Max-Age=0", "t=2; Path=/; Max-Age=0")
    #expect(policy.request.headers["Cookie"] == "id=7; s=0;flag")
  }

  @Test(arguments: [
    ("s=1; Path=/", "https://b.example.com/", nil),
    ("s=1; Path=/; Domain=example.com", "https://b.example.com/", "s=1"),
    ("s=1; Path=/; Domain=com", "https://b.example.com/", nil),
    ("s=1; Path=/; Domain=b.example.com", "https://b.example.com/", nil),
    ("s=1; Path=/", "https://a.example.com:444/", "s=1"),
    ("s=1; Path=/deep", "https://a.example.com/y", nil),
    ("s=1; Path=/deep", "https://a.example.com/deep/y", "s=1"),
  ])
  func `Cookies of a chain keep to their scope, and those of the user to their origin`(
    _ cookie: String, _ location: String, _ sent: String?
  ) throws {
    let isSame = location.hasPrefix("https://a.example.com/")
    var policy = try policy("https://a.example.com/x", ["Cookie": "id=7"])
    let next = try follow(&policy, to: location, setting: cookie)
    let expected = [isSame ? "id=7" : nil, sent].compactMap(\.self).joined(separator: "; ")
    #expect(next.headers["Cookie"] ?? "" == expected)
    // A host on the way does not give it back.
    let back = try follow(&policy, to: "https://a.example.com/deep/z")
    #expect(back.headers["Cookie"]?.contains("id=7") ?? false == isSame)
  }

  @Test func `The end of a chain is requested with its cookies until they expire`() throws {
    var chain = try policy("https://a.example.com/x", ["Cookie": "id=7"])
    _ = try follow(&chain, to: "/x", setting: "s=1; Path=/; Max-Age=60", "t=1; Path=/")
    for (seconds, cookies) in [(59.0, "id=7; s=1; t=1"), (61, "id=7; t=1")] {
      let later = RequestChain(
        request: try policy("https://a.example.com/x", ["Cookie": "id=7", "Range": "bytes=5-"])
          .request, after: chain, at: now.addingTimeInterval(seconds))
      #expect(later.request.headers["Cookie"] == cookies)
    }
  }
}
