// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// References from public hosts into private networks.
@Suite struct PrivateNetworkTests {
  @Test(arguments: [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "0.0.0.0", "224.0.0.1", "[::1]", "[::]", "[fe80::1]", "[fd00::1]",
    "[::ffff:10.0.0.1]", "[64:ff9b::7f00:1]", "localhost", "a.localhost", "router", "nas.local",
    "vault.internal", "printer.home.arpa", "2130706433", "0x7f.1",
  ])
  func `A private host is recognized`(_ host: String) throws {
    #expect(PrivateNetwork.contains(try #require(URL(string: "http://\(host):8080/x"))))
  }

  @Test(arguments: [
    "example.com", "172.32.0.1", "172.15.0.1", "8.8.8.8", "192.169.0.1", "100.128.0.1",
    "[2001:4860::1]", "local.example.com", "[::ffff:8.8.8.8]",
  ])
  func `A public host is recognized`(_ host: String) throws {
    #expect(!PrivateNetwork.contains(try #require(URL(string: "http://\(host)/x"))))
  }

  private func target(_ text: String, from referrer: String, allowed: [String] = []) throws
    -> String?
  {
    var configuration = CacheProxy.Configuration()
    configuration.token = "0123456789abcdef"
    configuration.allowedHosts = allowed
    let routes = try Routes(configuration)
    return routes.target(
      for: try #require(URL(string: text)), from: try #require(URL(string: referrer)), session: nil)
  }

  @Test func `A public playlist leads the proxy into no private network`() throws {
    let list = "https://cdn.example.com/a.m3u8"
    #expect(try target("http://192.168.1.1/s.ts", from: list) == nil)
    #expect(try target("https://b.example.com/s.ts", from: list) != nil)
    // A playlist of the private network may name its own hosts.
    #expect(try target("http://192.168.1.1/s.ts", from: "http://nas.local/a.m3u8") != nil)
  }

  @Test func `Allowed hosts decide instead`() throws {
    let list = "https://cdn.example.com/a.m3u8"
    let allowed = ["cdn.example.com", "192.168.1.1"]
    #expect(try target("http://192.168.1.1/s.ts", from: list, allowed: allowed) != nil)
    #expect(try target("http://192.168.1.2/s.ts", from: list, allowed: allowed) == nil)
    #expect(try target("https://b.example.com/s.ts", from: list, allowed: allowed) == nil)
  }
}
