// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite struct NetworkAddressTests {
  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1", true, true), ("10.1.2.3", "10.1.2.3", false, true),
    ("8.8.8.8", "8.8.8.8", false, false), ("[::1]", "::1", true, true),
    ("2001:DB8::0:1", "2001:db8::1", false, false),
    ("::ffff:127.0.0.1", "::ffff:127.0.0.1", true, true),
    ("64:ff9b::a00:1", "64:ff9b::a00:1", false, true),
  ])
  func `An address has one text, and belongs to its networks`(
    _ host: String, _ text: String, _ isLoopback: Bool, _ isPrivate: Bool
  ) throws {
    let address = try #require(NetworkAddress(host: host))
    #expect(address.text == text)
    #expect(address.isLoopback == isLoopback && address.isPrivate == isPrivate)
  }

  @Test(arguments: [
    "", "localhost", "127.1", "127.0.0.01", "0x7f000001", "fe80::1%eth0", "[::1", "127.0.0.1\0",
    "127.0.0.1\0.example", "[::1\0]",
  ])
  func `Anything else is no address`(_ host: String) {
    #expect(NetworkAddress(host: host) == nil)
  }

  @Test func `A name behind an address and a zero byte is not taken for loopback`() {
    #expect(!NetworkAddress.isLoopback(host: "127.0.0.1\0.example"))
    #expect(Authority("[::ffff\0:1.2.3.4]:80") == nil)
  }

  @Test(arguments: [
    ("http://a/1", "http://a:80/2", true), ("http://a/", "https://a/", false),
    ("http://a/", "http://a./", false), ("http://127.1/a", "http://127.1/b", false),
    ("http://a:0080/a", "http://a:0080/b", false), ("http://a:0080/a", "http://a/b", false),
    ("http://127.1/a", "http://127.0.0.1/b", false), ("data:,", "data:,", false),
  ])
  func `URLs of one origin are known`(_ left: String, _ right: String, _ isOne: Bool) throws {
    let (left, right) = (try #require(URL(string: left)), try #require(URL(string: right)))
    #expect(WebOrigin.isOne(of: left, right) == isOne)
  }
}
