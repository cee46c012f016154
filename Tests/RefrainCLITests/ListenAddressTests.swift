// SPDX-License-Identifier: MIT
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
    "99999999999999999999", "10.0.0.1:+8",
  ])
  func `An invalid listen address is refused`(_ text: String) {
    #expect(throws: InvalidArgument.self) { try ListenAddress(parsing: text) }
  }

  @Test(arguments: [
    "127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "localhost",
    "LocalHost",
  ])
  func `A loopback host is recognized`(_ host: String) {
    #expect(LoopbackAddress.contains(host))
  }

  @Test(arguments: [
    "0.0.0.0", "::", "192.168.1.5", "128.0.0.1", "fe80::1", "::ffff:10.0.0.1", "example.org",
    "localhost.example.org", "127.0.0.1.example.org", "",
  ])
  func `Other hosts are not taken for loopback`(_ host: String) {
    #expect(!LoopbackAddress.contains(host))
  }
}
