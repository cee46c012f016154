// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainCLI

struct HeaderArgumentTests {
  @Test(arguments: [
    ("Authorization: Bearer abc", "Authorization", "Bearer abc"),
    ("X-Empty:", "X-Empty", ""),
    ("Referer:https://example.org:8080/", "Referer", "https://example.org:8080/"),
    ("X-Space: \t a  b \t ", "X-Space", "a  b"),
    ("x!#$%&'*+-.^_`|~9: ü", "x!#$%&'*+-.^_`|~9", "ü"),
  ])
  func `A header argument is parsed`(_ text: String, _ name: String, _ value: String) throws {
    #expect(try HeaderArgument.parse(text) == HeaderFields.Field(name: name, value: value))
  }

  @Test(arguments: [
    "", "Authorization", ": value", "A B: c", "A : b", "Ä: b", "A\r\nB: c", "A(b): c",
    "A: b\r\nHost: evil", "A: b\nc", "A: b\rc", "A: b\u{0}c", "A: b\u{7F}",
  ])
  func `A header that could break a request is refused`(_ text: String) {
    #expect(throws: InvalidArgument.self) { try HeaderArgument.parse(text) }
  }
}

struct URLArgumentTests {
  @Test(arguments: [
    "http://example.org/a.mp3", "https://example.org", "HTTPS://Example.org/ü.flac",
    "http://[::1]:8080/a?b#c", "http://127.0.0.1/a b.mp3",
  ])
  func `A web URL is accepted`(_ text: String) throws {
    _ = try URLArgument.parse(text)
  }

  @Test(
    arguments: [
      ("http://h/x/../a.mp3", "http://h/a.mp3"), ("http://h/./a?b=/../c", "http://h/a?b=/../c"),
      ("https://h/../a//b", "https://h/a//b"), ("http://h/%2e%2e/a", "http://h/%2e%2e/a"),
      ("http://h/100%.mp3", "http://h/100%25.mp3"), ("http://h?a", "http://h?a"),
    ])
  func `A URL is parsed as programs request it`(_ text: String, _ url: String) throws {
    #expect(try URLArgument.parse(text).absoluteString == url)
  }

  @Test(arguments: [
    "", "song.flac", "/music/song.flac", "file:///etc/passwd", "ftp://example.org/a", "http://",
    "http:///a", "javascript:alert(1)", "http:example.org",
  ])
  func `An argument that is not a web URL is refused`(_ text: String) {
    #expect(throws: InvalidArgument.self) { try URLArgument.parse(text) }
  }

  @Test(arguments: [
    ("https://example.org/music/a%20song.flac?x=1", "a song.flac"),
    ("https://example.org", "example.org"), ("https://example.org/", "example.org"),
    ("https://example.org/a%1B%5B2J.mp3", "a\\u{1b}[2J.mp3"),
  ])
  func `The name of a URL is its last path component or its host`(
    _ text: String, _ name: String
  ) throws {
    let url = try URLArgument.parse(text)
    #expect(URLArgument.name(of: url) == name)
  }
}

struct RemovalArgumentTests {
  @Test(arguments: [
    ("/a b.flac", "/a%20b.flac"), ("/a%2Fb?c=%20#d", "/a%2Fb?c=%20"), ("/", "/"),
    ("//a/./b", "//a/./b"), ("http://a:b@example.org/c", "http://example.org/c"),
  ])
  func `A path or a URL is parsed for a running proxy`(_ text: String, _ sent: String) throws {
    let argument = try RemovalArgument.parse(text)
    #expect(argument.text == sent)
    #expect((argument.url == nil) == text.hasPrefix("/"))
  }

  @Test(arguments: ["", "song.flac", "file:///etc/passwd", "example.org/a"])
  func `An argument that is neither is refused`(_ text: String) {
    #expect(throws: InvalidArgument.self) { try RemovalArgument.parse(text) }
  }
}

struct TimeTextTests {
  @Test(arguments: [
    ("0", 0), ("90", 90), ("12.5", 12.5), ("1:30", 90), ("1:02:03.25", 3723.25), ("90:00", 5400),
  ])
  func `A position is parsed`(_ text: String, _ seconds: Double) throws {
    #expect(try TimeText.parse(text) == .seconds(seconds))
  }

  @Test(arguments: ["", "-1", "1:60", "1:2:3:4", "1.5:00", "abc", ":30", "1:", "1e3", "inf"])
  func `An invalid position is refused`(_ text: String) {
    #expect(throws: InvalidArgument.self) { try TimeText.parse(text) }
  }

  @Test func `Times are formatted`() {
    #expect(TimeText.position(.seconds(7.9)) == "0:07")
    #expect(TimeText.position(.seconds(754)) == "12:34")
    #expect(TimeText.position(.seconds(3723)) == "1:02:03")
    #expect(TimeText.position(.seconds(-1)) == "0:00")
    #expect(TimeText.span(.milliseconds(83)) == "83 ms")
    #expect(TimeText.span(.seconds(2.44)) == "2.4 s")
  }
}

struct ChildEnvironmentTests {
  private func reaching(_ environment: [String: String]) -> Set<String> {
    Set(ChildEnvironment.reaching(environment))
  }

  @Test func `The environment is unchanged without a network proxy`() {
    #expect(reaching(["A": "1=2", "no_proxy": "x"]) == ["A=1=2", "no_proxy=x"])
    #expect(reaching(["http_proxy": ""]) == ["http_proxy="])
  }

  @Test func `The loopback address is excluded from a network proxy`() {
    #expect(
      reaching(["http_proxy": "p"])
        == ["http_proxy=p", "no_proxy=127.0.0.1", "NO_PROXY=127.0.0.1"])
    #expect(
      reaching(["ALL_PROXY": "p", "NO_PROXY": "a,b"])
        == ["ALL_PROXY=p", "no_proxy=a,b,127.0.0.1", "NO_PROXY=a,b,127.0.0.1"])
    #expect(reaching(["HTTP_PROXY": "p", "no_proxy": "*"]).contains("no_proxy=*"))
  }
}
