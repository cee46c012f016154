// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite struct RedirectTests {
  static let headers: HeaderFields = [
    "Authorization": "Bearer s", "Cookie": "a=b", "Proxy-Authorization": "x", "X-Api-Key": "k",
    "Host": "example.com", "User-Agent": "player", "Accept": "*/*", "Accept-Language": "de",
    "Referer": "https://example.com/", "Range": "bytes=0-1", "If-Range": "\"a\"",
    "Accept-Encoding": "identity", "If-None-Match": "\"a\"", "Icy-MetaData": "1",
  ]

  static func policy(_ url: String) throws -> RequestChain {
    RequestChain(request: OriginRequest(url: try #require(URL(string: url)), headers: headers))
  }

  @Test(arguments: [200, 206, 300, 304, 305, 306, 404])
  func `Any other status is not followed`(_ status: Int) throws {
    var policy = try Self.policy("https://a.com/x")
    #expect(try policy.follow(status: status, headers: ["Location": "/y"]) == nil)
  }

  /// The examples of RFC 3986 §5.4 that apply to media URLs.
  @Test(arguments: [
    ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
    ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"),
    ("g?y", "http://a/b/c/g?y"), ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"),
    (";x", "http://a/b/c/;x"), ("g;x?y", "http://a/b/c/g;x?y"), (".", "http://a/b/c/"),
    ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
    ("../g", "http://a/b/g"),
    ("../..", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"),
    ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."),
    ("..g", "http://a/b/c/..g"), ("./g/.", "http://a/b/c/g/"), ("g/../h", "http://a/b/c/h"),
    ("g;x=1/../y", "http://a/b/c/y"), ("g?y/../x", "http://a/b/c/g?y/../x"),
    ("HTTPS://H/", "HTTPS://H/"), ("http://h", "http://h"), ("http://h?q", "http://h?q"),
    ("http://h:81/a//b", "http://h:81/a//b"),
  ])
  func `A Location is resolved as RFC 3986 requires`(
    _ reference: String, _ expected: String
  ) throws {
    var policy = try Self.policy("http://a/b/c/d;p?q#f")
    let next = try policy.follow(status: 302, headers: ["Location": reference])
    #expect(next?.url.absoluteString == expected)
  }

  @Test(arguments: [
    "https://h/a%2Fb%2fc/%7Ed?X-Amz-Signature=a%2Bb+c%20d&k=%e4%F6&e=",
    "https://h/a%20b?x=1&y=%5B1%5D", "https://h/%E2%9C%93?u=https://x/?y&z=a:b@c",
    "https://h/%2e%2e/a", "https://h/a?b=%25%2525",
  ])
  func `A signed Location is kept byte for byte`(_ location: String) throws {
    var policy = try Self.policy("https://a.com/x")
    let next = try policy.follow(status: 302, headers: ["Location": location])
    #expect(next?.url.absoluteString == location)
  }

  @Test(arguments: [
    ("/a b%20c", "https://a.com/a%20b%20c"), ("/é%C3", "https://a.com/%C3%A9%C3"),
    ("/a?b=\"%2F\"", "https://a.com/a?b=%22%2F%22"),
    ("/a%2Fb?c[]=%2F", "https://a.com/a%2Fb?c%5B%5D=%2F"), ("/[%2F]", "https://a.com/%5B%2F%5D"),
    ("/%zz%2F%", "https://a.com/%25zz%2F%25"), ("/a|b%7C", "https://a.com/a%7Cb%7C"),
    ("https://[::1]:8/[a]", "https://[::1]:8/%5Ba%5D"),
    ("/a\u{301}?\u{301}", "https://a.com/a%CC%81?%CC%81"),
  ])
  func `Only characters that are invalid in a URI are encoded`(
    _ location: String, _ expected: String
  ) throws {
    var policy = try Self.policy("https://a.com/x")
    let next = try policy.follow(status: 302, headers: ["Location": location])
    #expect(next?.url.absoluteString == expected)
  }

  @Test(arguments: [
    "http://a.com/y", "ftp://a.com/y", "file:///etc/passwd", "javascript:alert(1)", "data:,x",
    "https:///y", "https:y", "https://", "", " ", "/x", "#f", "//", "https://[::1/y",
  ])
  func `An unusable or insecure Location is refused`(_ location: String) throws {
    var policy = try Self.policy("https://a.com/x")
    #expect {
      try policy.follow(status: 302, headers: ["Location": location])
    } throws: { error in
      (error as? MediaCacheError)?.code == .redirect
        && (error as? MediaCacheError)?.status == 302
    }
  }

  @Test func `A redirect without a Location is an error`() throws {
    var policy = try Self.policy("https://a.com/x")
    #expect(throws: MediaCacheError.self) { try policy.follow(status: 301, headers: [:]) }
  }

  @Test func `An upgrade to https is followed, without credentials`() throws {
    var policy = try Self.policy("http://a.com/x")
    let next = try policy.follow(status: 301, headers: ["Location": "https://a.com/x"])
    #expect(next?.headers["Authorization"] == nil)
    #expect(next?.headers["Range"] == "bytes=0-1")
  }

  @Test(arguments: ["/y", "https://A.com:443/y", "HTTPS://a.com/y", "//a.com/y"])
  func `A redirect within the origin keeps every header`(_ location: String) throws {
    var policy = try Self.policy("https://a.com/x")
    let next = try policy.follow(status: 302, headers: ["Location": location])
    #expect(next?.headers == Self.headers)
  }

  @Test(arguments: ["https://b.com/x", "https://a.com:444/x", "https://sub.a.com/x", "//a.com./x"])
  func `A redirect to another origin drops credentials and custom headers`(
    _ location: String
  ) throws {
    var policy = try Self.policy("https://a.com/x")
    let next = try #require(try policy.follow(status: 302, headers: ["Location": location]))
    for name in ["Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "Host"] {
      #expect(next.headers[name] == nil)
    }
    for name in [
      "User-Agent", "Accept", "Accept-Language", "Referer", "Range", "If-Range",
      "Accept-Encoding", "If-None-Match", "Icy-MetaData",
    ] {
      #expect(next.headers[name] == Self.headers[name])
    }
  }

  @Test func `A redirect back to the origin does not restore credentials`() throws {
    var policy = try Self.policy("https://a.com/x")
    _ = try policy.follow(status: 302, headers: ["Location": "https://b.com/x"])
    let back = try policy.follow(status: 302, headers: ["Location": "https://a.com/y"])
    #expect(back?.url.host() == "a.com")
    #expect(back?.headers["Authorization"] == nil)
  }
}
