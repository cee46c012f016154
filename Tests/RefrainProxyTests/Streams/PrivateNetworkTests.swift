// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import RefrainStreams
import Testing

@testable import RefrainProxy

/// A served playlist of a public host leads the proxy neither to files nor into a private network.
@Suite(.timeLimit(.minutes(1))) struct PublicPlaylistTests {
  /// Sends the requests for a public host to an origin on this machine.
  private struct PublicHost: RelayingTransport {
    static let name = "cdn.example.com"
    let origin: URL
    private let transport = MediaCache.platformTransport()

    init(origin: URL) { self.origin = origin }

    private func moved(_ url: URL) -> URL {
      guard url.host() == Self.name else { return url }
      return URL(string: url.path(), relativeTo: origin)?.absoluteURL ?? url
    }

    func send(_ request: OriginRequest) async throws -> OriginResponse {
      var request = request
      request.url = moved(request.url)
      return try await transport.send(request)
    }
  }

  private func withPublicHost(_ body: (TestProxy) async throws -> Void) async throws {
    try await withOrigin { origin in
      try await withProxy(
        origin: origin, cache: { $0.transport = PublicHost(origin: origin.baseURL) }, body)
    }
  }

  private func get(_ url: String, _ test: TestProxy) async throws -> Reply {
    let target = "/\(test.token)/" + url.replacing("://", with: "/")
    return try await test.reply(to: target)
  }

  @Test func `References to files and to private hosts do not lead through the proxy`()
    async throws
  {
    try await withPublicHost { test in
      let kept = [
        "file:///etc/passwd", "file:/etc/passwd", test.origin.url("/secret").absoluteString,
        "http://localhost:8080/secret", "http://[::1]/secret", "http://192.168.1.1/secret",
        "//169.254.169.254/secret",
      ]
      let list = kept.map { "#EXTINF:2,\n\($0)\n" }.joined()
      let key = "#EXT-X-KEY:METHOD=AES-128,URI=\"\(test.origin.url("/secret").absoluteString)\"\n"
      test.serve(
        "#EXTM3U\n\(key)\(list)#EXTINF:2,\nhttps://other.example.com/s.ts\n", at: "/list.m3u8")
      let reply = try await get("http://\(PublicHost.name)/list.m3u8", test)
      #expect(reply.status == 200)
      let place = "/\(test.token)/https/other.example.com"
      #expect(reply.text == "#EXTM3U\n\(key)\(list)#EXTINF:2,\n\(place)/s.ts\n")
    }
  }

  @Test func `The proxy has no path for a file, and follows no redirect to a private host`()
    async throws
  {
    try await withPublicHost { test in
      for path in ["file//etc/passwd", "file/etc/passwd", "file/localhost/etc/passwd"] {
        let reply = try await test.reply(to: "/\(test.token)/\(path)")
        #expect(reply.status == 400, "\(path)")
      }
      let secret = test.origin.url("/secret").absoluteString
      test.serve("secret", at: "/secret")
      for name in ["list.m3u8", "s.ts"] {
        test.origin.script("/\(name)", .on(.all, .redirect(302, to: secret)))
        let reply = try await get("http://\(PublicHost.name)/\(name)", test)
        #expect(reply.status == 302 && reply["Location"] == secret, "\(name)")
      }
      #expect(test.origin.log("/secret").requests.isEmpty)
    }
  }
}

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
