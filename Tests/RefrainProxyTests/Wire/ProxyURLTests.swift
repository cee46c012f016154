// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

@Suite struct ProxyURLTests {
  private let token = "abcdefghijklmnop"

  @Test(
    arguments: [
      ("https/cdn.example.com/a/b.mp3", "https://cdn.example.com/a/b.mp3"),
      ("http/cdn.example.com:8080/a?b=c/d", "http://cdn.example.com:8080/a?b=c/d"),
      ("https/CDN.Example.com/A", "https://cdn.example.com/A"),
      ("https/a.example", "https://a.example/"), ("https/a.example/", "https://a.example/"),
      ("https/a.example?x", "https://a.example/?x"), ("https/a.example/?", "https://a.example/?"),
      ("https/a.example//b//c/", "https://a.example//b//c/"),
      ("https/a.example/%2F%2f%41?%zz", "https://a.example/%2F%2f%41?%25zz"),
      ("https/a.example/a[1]|\"?[x]", "https://a.example/a%5B1%5D%7C%22?%5Bx%5D"),
      ("https/a.example/http://b.example/@c:d", "https://a.example/http://b.example/@c:d"),
      ("http/[::1]:80/x", "http://[::1]:80/x"), ("http/%5B::1%5d%3A80/x", "http://[::1]:80/x"),
      ("https/a.example/...?../x", "https://a.example/...?../x"),
      ("https/a.example/a%2F..%2Fb/.c", "https://a.example/a%2F..%2Fb/.c"),
    ])
  func `A target is parsed into the URL that it names`(_ rest: String, _ url: String) throws {
    let named = try ProxyURL.parse(target: "/\(token)/\(rest)", token: token)
    #expect(named.url.absoluteString == url && named.session == nil)
    let inSession = try ProxyURL.parse(target: "/\(token)/~aZ09-._~/\(rest)", token: token)
    #expect(inSession.url.absoluteString == url && inSession.session == "aZ09-._~")
  }

  @Test(arguments: ["~", "~/", "~a%41", "~a b", "~é", "a"])
  func `A segment that cannot be a session is not skipped`(_ segment: String) {
    #expect(throws: HTTPError.self) {
      try ProxyURL.parse(target: "/\(token)/\(segment)/https/a.example/", token: token)
    }
  }

  @Test func `A target for a session parses back`() throws {
    let url = try #require(URL(string: "https://a.example/x?y"))
    let target = try #require(ProxyURL.target(for: url, token: token, session: "s"))
    #expect(target == "/\(token)/~s/https/a.example/x?y")
    #expect(try ProxyURL.parse(target: target, token: token) == .init(url: url, session: "s"))
  }

  @Test(arguments: [
    "", "/", "/x", "//", "/abcdefghijklmno/https/a.example/", "/abcdefghijklmnop1/https/a.example/",
    "/Abcdefghijklmnop/https/a.example/", "/https/a.example/", "abcdefghijklmnop/https/a.example/",
    "//abcdefghijklmnop/https/a.example/", "/%61bcdefghijklmnop/https/a.example/",
    "x/abcdefghijklmnop/https/a.example/",
  ])
  func `A target without the proxy's token is answered 404`(_ target: String) {
    #expect(throws: HTTPError(404, "No resource exists at this URL.")) {
      try ProxyURL.parse(target: target, token: token)
    }
  }

  @Test(arguments: [
    "", "/", "?x", "/https", "/https/", "/https//a", "/ftp/a.example/", "/HTTPS/a.example/",
    "/https:/a.example/", "/https/u@a.example/", "/https/a.example:/", "/https/a.example:0/",
    "/https/a.example:99999/", "/https/a b/", "/https/a%2Fb/", "/https/a%40b/", "/https/a%00/",
    "/https/a.example/../b", "/https/a.example/a/..", "/https/a.example/./a", "/https/a.example/.",
    "/https/a.example/%2e%2E/b", "/https/a.example/.%2e", "/https/a.example/%2e?x",
    "/https/../http/a.example/", "/https/./a.example", "/https/a.example/é", "/https/a.example/#x",
    "/https/127.1/", "/https/[::1/", "/https/[::1]x/", "/https/a\\@b.example/", "/https/%2e%2e/a",
  ])
  func `A target with an invalid URL is refused`(_ rest: String) {
    let error = #expect(throws: HTTPError.self) {
      try ProxyURL.parse(target: "/\(token)\(rest)", token: token)
    }
    #expect(error?.status == 400)
  }

  @Test(
    arguments: [
      ("https://cdn.example.com/a%2Fb?c=[]", "/https/cdn.example.com/a%2Fb?c=%5B%5D"),
      ("HTTPS://A.Example", "/https/a.example/"), ("http://a.example?x", "/http/a.example/?x"),
      ("http://u:p@a.example:81/x#y", "/http/a.example:81/x"),
      ("http://[::1]:81/x", "/http/%5B::1%5D:81/x"),
    ])
  func `A URL is encoded as a target that parses back`(_ text: String, _ rest: String) throws {
    let url = try #require(URL(string: text))
    let target = try #require(ProxyURL.target(for: url, token: token))
    #expect(target == "/\(token)\(rest)")
    let back = try ProxyURL.parse(target: target, token: token).url
    #expect(ProxyURL.target(for: back, token: token) == target)
  }

  @Test(arguments: ["ftp://a.example/", "file:///a", "https:///a", "https://a.example/a/../b"])
  func `A URL that cannot be requested has no target`(_ text: String) throws {
    let url = try #require(URL(string: text))
    #expect(ProxyURL.target(for: url, token: token) == nil)
  }

  @Test(
    arguments: [
      ("https://a.example", "/b%2F?c", "https://a.example/b%2F?c"),
      ("https://a.example/", "/b", "https://a.example/b"),
      ("https://a.example:81/p/q/?x", "/b", "https://a.example:81/p/q/b"),
      ("https://a.example", "//evil.example/b", "https://a.example//evil.example/b"),
      ("https://a.example", "/@evil.example", "https://a.example/@evil.example"),
    ])
  func `A target's path is appended to the origin's path`(
    _ base: String, _ target: String, _ url: String
  ) throws {
    let origin = try #require(URL(string: base).flatMap { ServedOrigin($0) })
    #expect(try origin.url(of: target).absoluteString == url)
  }

  @Test(arguments: [
    "", "*", "b", "http://b.example/", "/../b", "/a/%2e%2e", "/#b", "/a b", "/..%2fx", "/..%2Fx",
    "/a/..%2f..%2fx", "/%2e%2e%2fx", "/%2E.%2Fx", "/..%5cx", "/a%5C..%5Cx", "/a%2f..", "/.%2fx",
    "/..\\x", "/a\\..\\x",
  ])
  func `A reverse proxy of a part of an origin refuses a target that may leave it`(
    _ target: String
  ) throws {
    let origin = try #require(URL(string: "https://a.example/p").flatMap { ServedOrigin($0) })
    let error = #expect(throws: HTTPError.self) { try origin.url(of: target) }
    #expect(error?.status == 400)
  }

  @Test(arguments: ["/a%2Fb", "/..a%2f", "/a..%2f...", "/%5C", "/a%2F%2Fb"])
  func `Other encoded separators are passed to the origin unchanged`(_ target: String) throws {
    let origin = try #require(URL(string: "https://a.example/p").flatMap { ServedOrigin($0) })
    let url = try origin.url(of: target)
    #expect(url.absoluteString == "https://a.example/p" + target)
  }

  @Test(arguments: [
    ("https://a.example/p/x?y", "/x?y"), ("HTTPS://A.example:443/p", "/"),
    // The client sends these itself.
    ("https://user:pass@a.example/p/x", nil), ("https://a.example./p/x", "/x"),
    ("https://a.example/q/x", nil), ("http://a.example/p/x", nil),
  ])
  func `A URL of the origin has a target, unless it names a user or another host`(
    _ url: String, _ target: String?
  ) throws {
    let origin = try #require(URL(string: "https://a.example/p").flatMap { ServedOrigin($0) })
    #expect(origin.target(of: try #require(URL(string: url))) == target)
  }

  @Test func `An absolute-form target is split into authority and path`() {
    let parts = ProxyURL.splitAbsolute("http://127.0.0.1:80/a?b")
    #expect(parts?.authority == "127.0.0.1:80")
    #expect(parts?.target == "/a?b")
    #expect(ProxyURL.splitAbsolute("HTTP://a.example")?.target == "/")
    #expect(ProxyURL.splitAbsolute("http://a.example?x")?.target == "/?x")
    #expect(ProxyURL.splitAbsolute("/http://a.example/") == nil)
    #expect(ProxyURL.splitAbsolute("https://a.example/") == nil)
    #expect(ProxyURL.splitAbsolute("*") == nil)
  }

  @Test func `Tokens are equal only if they match completely`() {
    for rest in ["", "/", "?a", "/a"] {
      #expect(TokenCheck.begins("/\(token)\(rest)", with: token))
      for other in ["", "a", "abcdefghijklmnoq", token + "a", token + token] {
        #expect(!TokenCheck.begins("/\(other)\(rest)", with: token))
      }
    }
    #expect(!TokenCheck.begins(token, with: token) && !TokenCheck.begins("/", with: ""))
  }

  @Test func `A valid token is long and needs no percent-encoding`() {
    #expect(TokenCheck.isValid(token) && TokenCheck.isValid("abcdefgh-._~0123"))
    for other in [
      "", "abcdefghijklmno", "abcdefghijklmno/", "abcdefghijklmno%", "abcdefghijklmnoé",
    ] {
      #expect(!TokenCheck.isValid(other))
    }
    #expect(!TokenCheck.isValid(String(repeating: ".", count: 16)))
    let tokens = Set((0..<100).map { _ in TokenCheck.random() })
    #expect(tokens.count == 100)
    #expect(tokens.allSatisfy { TokenCheck.isValid($0) && $0.count == 32 })
  }
}

/// A URL with dot segments is requested as browsers and curl request it (RFC 3986 §5.2.4).
@Suite(.timeLimit(.minutes(1))) struct DotSegmentTests {
  private func routes(origin: String? = nil) throws -> Routes {
    var configuration = CacheProxy.Configuration()
    configuration.token = "abcdefghijklmnop"
    configuration.origin = try origin.map { try #require(URL(string: $0)) }
    if origin != nil { configuration.token = nil }
    return try Routes(configuration)
  }

  @Test(
    arguments: [
      ("/x/../a.mp3", "/a.mp3"), ("/./a.mp3?q=/../b", "/a.mp3?q=/../b"), ("/../../a", "/a"),
      ("/x/..", "/"), ("/x/y/.", "/x/y/"), ("/x/%2e%2E/a%2Fb", "/a%2Fb"), ("/x/.%2e/./y", "/y"),
      ("/%2E/a", "/a"), ("/x//../a", "/x/a"), ("/.../..a/a..", "/.../..a/a.."),
      ("/a%2F..%2Fb", "/a%2F..%2Fb"), ("/.hidden/%2ea", "/.hidden/%2ea"), ("?/../x", "/?/../x"),
    ])
  func `The proxy's URL has none`(_ path: String, _ resolved: String) throws {
    let url = try #require(URL(string: "https://a.example" + path))
    #expect(
      try routes().target(for: url) == "/abcdefghijklmnop/https/a.example" + resolved)
  }

  @Test func `A reverse proxy serves what remains under its origin`() throws {
    let routes = try routes(origin: "https://a.example/open")
    for (path, target) in [
      ("/open/x/../a", "/a"), ("/b/../open/a", "/a"), ("/open/../secret", nil),
      ("/open/%2e%2e/secret", nil), ("/open/..", nil), ("/open/.", "/"),
    ] {
      let url = try #require(URL(string: "https://a.example" + path))
      #expect(routes.target(for: url) == target, "\(path)")
    }
  }

  @Test func `Both spellings share what is stored`() async throws {
    try await withProxy { test async throws in
      test.serve("/b/a", ["Cache-Control": "max-age=600"])
      for path in ["/b/a", "/x/../b/./a", "/b/%2e/a"] {
        #expect(try await test.get(path).status == 200)
      }
      let log = try await test.settledLog("/b/a")
      #expect(log.requests.map(\.request.target) == ["/b/a"])
    }
  }
}
