// SPDX-License-Identifier: MIT
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
    "a:x", "a:-1", "a:+1", "a:1:2", "::1", "[::1", "[::1]x", "[::1]:", "[::1%25eth0]", "[x]", "[]",
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

  /// Names that a user gave: valid with any port, except loopback ones.
  private static let given = ["Music.local", "10.0.0.9", "127.0.0.5", "localhost"]

  @Test(arguments: [
    "127.0.0.1:8080", "LOCALHOST:8080", "localhost.:8080", "[::1]:8080", "[0:0::1]:8080",
    "music.local:8080", "Music.Local.:8080", "music.local", "music.local:80", "music.local:8443",
    "10.0.0.9", "127.0.0.5:8080",
  ])
  func `The proxy's own host names are recognized`(_ value: String) {
    let check = HostCheck(addresses: ["127.0.0.1", "::1"], names: Self.given, port: 8080)
    #expect(check.isOurs(value))
    #expect(Array(value.utf8).withUnsafeBytes { check.isOurs($0) })
  }

  @Test(arguments: [
    "", "127.0.0.1", "127.0.0.1:80", "127.0.0.2:8080", "evil.example:8080", "localhost",
    "localhost.evil.example:8080", "xlocalhost:8080", "127.0.0.1:8080.", "u@localhost:8080",
    "[::2]:8080", "127.0.0.1:08080", "localhost..:8080", "music.local.evil.example",
    "xmusic.local", "127.0.0.5", "127.0.0.5:80", "localhost:8081", "[::1]:80",
  ])
  func `Other host names are not recognized as the proxy's own`(_ value: String) {
    let check = HostCheck(addresses: ["127.0.0.1", "::1"], names: Self.given, port: 8080)
    #expect(!check.isOurs(value))
    let isOurs = Array(value.utf8).withUnsafeBytes { check.isOurs($0) }
    #expect(!isOurs)
  }

  @Test(
    arguments: [
      ("10.0.0.5:8080", true), ("[::ffff:10.0.0.5]:8080", true), ("[::FFFF:a00:5]:8080", true),
      ("[2001:db8::1]:8080", true), ("10.0.0.5", false), ("10.0.0.5:80", false),
      ("10.0.0.6:8080", false), ("[::10.0.0.5]:8080", false), ("[::ffff:10.0.0.6]:8080", false),
    ])
  func `An IPv4 address is recognized at a socket for IPv6`(value: String, isOurs: Bool) {
    for address in ["::ffff:10.0.0.5", "[::ffff:10.0.0.5]"] {
      let check = HostCheck(addresses: [address, "::", "2001:db8::1"], port: 8080)
      #expect(check.isOurs(value) == isOurs)
      #expect(Array(value.utf8).withUnsafeBytes { check.isOurs($0) } == isOurs)
    }
  }

  @Test func `Port 80 may be omitted`() {
    let check = HostCheck(addresses: ["127.0.0.1"], port: 80)
    #expect(check.isOurs("127.0.0.1") && check.isOurs("localhost:80"))
    #expect(!check.isOurs("127.0.0.1:8080"))
  }
}
