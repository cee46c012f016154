// SPDX-License-Identifier: MIT
import ArgumentParser
import Refrain
import RefrainProxy
import Testing

@testable import RefrainCLI

struct ListenAddressTests {
  @Test(
    arguments: [
      ("127.0.0.1:8573", "127.0.0.1", 8573), ("[::1]:80", "::1", 80), ("[::1]", "::1", nil),
      ("::1", "::1", nil), ("::", "::", nil), ("0.0.0.0", "0.0.0.0", nil), (":9000", nil, 9000),
      ("9000", nil, 9000), ("0", nil, 0), ("localhost", "localhost", nil),
      ("media.local:80", "media.local", 80), ("[fe80::1%eth0]:80", "fe80::1%eth0", 80),
      ("::ffff:127.0.0.1", "::ffff:127.0.0.1", nil),
    ] as [(String, String?, Int?)])
  func `A listen address is parsed`(_ text: String, _ host: String?, _ port: Int?) throws {
    #expect(try ListenAddress(parsing: text) == ListenAddress(host: host, port: port))
  }

  @Test(arguments: [
    "", ":", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "[::1", "[::1]80", "[127.0.0.1]:80",
    "[]:80", "*:80", "*", "http://127.0.0.1", "a b", "1:2:3:4:5:6:7:8:9", "host:port", "host/x",
    "99999999999999999999", "10.0.0.1:+8", "8573x", "8574 ", "127.0.0.1:8573/",
  ])
  func `An invalid listen address is refused`(_ text: String) {
    #expect(throws: InvalidArgument.self) { try ListenAddress(parsing: text) }
  }

  @Test(arguments: [
    ("", "empty"), ("8573x", "'8573x' is neither a port nor an address"),
    (":99999", "'99999' is not a port"), ("70000", "'70000' is not a port"),
    ("127.0.0.1:", "the port after ':' is missing"), ("localhost:x", "'x' is not a port"),
    ("[::1", "']' is missing"), ("[::1]80", "may follow ']'"), ("[127.0.0.1]:80", "IPv6"),
    ("fe80::x", "'fe80::x' is not an IPv6 address"), ("a b", "'a b' is neither an address"),
    ("http://127.0.0.1:8573", "omit the scheme"), ("127.0.0.1:8573/", "and the path"),
  ])
  func `The error of a listen address says what is wrong, and the right form`(
    _ text: String, _ reason: String
  ) {
    let error = #expect(throws: InvalidArgument.self) { try ListenAddress(parsing: text) }
    #expect(error?.description.contains(reason) == true)
    #expect(error?.description.contains("127.0.0.1:8573, [::1]:8573, 0.0.0.0 or 8573") == true)
  }

  @Test func `A name may begin with a digit if a port or a dot shows that it is one`() throws {
    let container = ListenAddress(host: "3f2a9bc01d2e", port: 80)
    #expect(try ListenAddress(parsing: "3f2a9bc01d2e:80") == container)
    #expect(try ListenAddress(parsing: "3.local") == ListenAddress(host: "3.local", port: nil))
  }

  @Test func `A name that would be an open proxy is called a name`() throws {
    let named = #expect(throws: (any Error).self) {
      _ = try RefrainCommand.parseAsRoot(["serve", "--listen", "host"])
    }
    let message = RefrainCommand.message(for: try #require(named))
    #expect(message.contains("'host' is taken for a name"))
    #expect(message.contains("127.0.0.1:8573, [::1]:8573") && message.contains("open proxy"))
    let numeric = #expect(throws: (any Error).self) {
      _ = try RefrainCommand.parseAsRoot(["serve", "--listen", "0.0.0.0"])
    }
    let plain = RefrainCommand.message(for: try #require(numeric))
    #expect(plain.contains("open proxy") && !plain.contains("taken for a name"))
  }

  @Test(arguments: [
    "127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "localhost",
    "LocalHost",
  ])
  func `A loopback host is recognized`(_ host: String) {
    #expect(NetworkAddress.isLoopback(host: host))
  }

  @Test(arguments: [
    "0.0.0.0", "::", "192.168.1.5", "128.0.0.1", "fe80::1", "::ffff:10.0.0.1", "example.org",
    "localhost.example.org", "127.0.0.1.example.org", "",
  ])
  func `Other hosts are not taken for loopback`(_ host: String) {
    #expect(!NetworkAddress.isLoopback(host: host))
  }
}
