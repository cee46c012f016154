// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Cookies (RFC 6265).
@Suite struct CookiesTests {
  private let now = Date(timeIntervalSince1970: 1_800_000_000)

  private func sent(
    _ field: String, from source: String = "https://a.example.com/dir/list.m3u8", to target: String,
    after seconds: Double = 0
  ) throws -> [String] {
    var jar = Cookies()
    jar.store([field], from: try #require(URL(string: source)), at: now)
    let url = try #require(URL(string: target))
    return jar.cookies(for: url, at: now.addingTimeInterval(seconds)).map {
      "\($0.name)=\($0.value)"
    }
  }

  @Test(arguments: [
    ("n=v", "https://a.example.com/dir/s.ts", true),
    ("n=v", "https://a.example.com/dir", true),
    ("n=v", "https://a.example.com/directory/s.ts", false),
    ("n=v", "https://a.example.com/s.ts", false),
    ("n=v", "https://b.example.com/dir/s.ts", false),
    ("n=v", "https://x.a.example.com/dir/s.ts", false),
    ("n=v; Path=/", "https://a.example.com/s.ts", true),
    ("n=v; path=dir", "https://a.example.com/dir/s.ts", true),
    ("n=v; Domain=example.com; Path=/", "https://b.example.com/s.ts", true),
    ("n=v; Domain=.example.com; Path=/", "https://b.example.com/s.ts", true),
    ("n=v; Domain=ample.com; Path=/", "https://b.ample.com/s.ts", false),
    ("n=v; Domain=com; Path=/", "https://a.example.com/s.ts", false),
    ("n=v; Domain=b.example.com; Path=/", "https://b.example.com/s.ts", false),
    ("n=v; Secure; Path=/", "http://a.example.com/s.ts", false),
    ("n=v; Secure; Path=/", "https://a.example.com/s.ts", true),
    ("n=v; Max-Age=0; Path=/", "https://a.example.com/s.ts", false),
    ("n=v; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/", "https://a.example.com/s.ts", false),
    ("n", "https://a.example.com/dir/s.ts", false),
    ("=v", "https://a.example.com/dir/s.ts", false),
    ("n=v\u{7}", "https://a.example.com/dir/s.ts", false),
    (" n = v ;Secure", "https://a.example.com/dir/s.ts", true),
    ("n=v; Expires=Thu, 01-Jan-1970 00:00:00 GMT", "https://a.example.com/dir/s.ts", false),
    ("n=v; Expires=Thursday, 01-Jan-70 00:00:01 GMT", "https://a.example.com/dir/s.ts", false),
    ("n=v; Expires=Tuesday, 01-Jan-69 00:00:01 GMT", "https://a.example.com/dir/s.ts", true),
    ("n=v; Expires=Wed, 09 JUN 2021 10:18:14 UTC", "https://a.example.com/dir/s.ts", true),
    ("n=v; Expires=Wed Jun  9 10:18:14 2021", "https://a.example.com/dir/s.ts", false),
    ("n=v; Expires=Sun, 31-Jun-2021 10:18:14 GMT", "https://a.example.com/dir/s.ts", true),
    ("n=v; Max-Age=-1", "https://a.example.com/dir/s.ts", false),
    ("n=v; Max-Age=never; Max-Age=60", "https://a.example.com/dir/s.ts", true),
    ("n=v; Max-Age=60; Max-Age=0", "https://a.example.com/dir/s.ts", false),
    (
      "n=v; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Expires=x", "https://a.example.com/dir/s.ts",
      false
    ),
  ])
  func `A cookie is sent where its attributes say`(
    _ field: String, _ target: String, _ isSent: Bool
  ) throws {
    #expect(try sent(field, to: target) == (isSent ? ["n=v"] : []))
  }

  @Test func `A cookie is sent until its age ends`() throws {
    let target = "https://a.example.com/s.ts"
    for field in ["n=v; Path=/; Max-Age=60", "n=v; Path=/; Max-Age=60; Max-Age=x"] {
      #expect(try sent(field, to: target, after: 59) == ["n=v"])
      #expect(try sent(field, to: target, after: 61) == [])
    }
  }

  @Test func `A newer cookie replaces one of the same name, domain and path`() throws {
    var jar = Cookies()
    let url = try #require(URL(string: "https://a.example.com/dir/x"))
    jar.store(["n=1", "n=2", "n=3; Path=/"], from: url, at: now)
    #expect(jar.cookies(for: url, at: now).map(\.value) == ["2", "3"])
  }

  @Test func `A cookie that is set again keeps its place, behind those with longer paths`() throws {
    var jar = Cookies()
    let url = try #require(URL(string: "https://a.example.com/dir/x"))
    jar.store(["a=1; Path=/", "b=1; Path=/", "c=1", "a=2; Path=/"], from: url, at: now)
    #expect(jar.complete([:], for: url, at: now)["Cookie"] == "c=1; a=2; b=1")
  }

  @Test func `A name need not be a token, and no cookie splits a field`() throws {
    let target = "https://a.example.com/dir/x"
    #expect(try sent("a[1]=\"x, y\"", to: target) == ["a[1]=\"x, y\""])
    for field in ["a\r\nb=c", "a=b\u{0}", "a=b\u{7F}"] {
      #expect(try sent(field, to: target) == [])
    }
  }

  @Test func `The jar is bounded`() throws {
    var jar = Cookies()
    let url = try #require(URL(string: "https://a.example.com/x"))
    for number in 0..<1000 { jar.store(["n\(number)=v; Path=/"], from: url, at: now) }
    jar.store(["long=" + String(repeating: "v", count: 5000)], from: url, at: now)
    let names = jar.cookies(for: url, at: now).map(\.name)
    #expect(names.count == 300 && names.contains("n999") && !names.contains("long"))
  }
}
