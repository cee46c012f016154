// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
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

    func relay(_ request: RelayedRequest) async throws -> OriginResponse {
      var request = request
      request.url = moved(request.url)
      return try await transport.relay(request)
    }
  }

  private func withPublicHost(_ body: (TestProxy) async throws -> Void) async throws {
    let origin = try await OriginServer.start()
    let result: Result<Void, any Error>
    do {
      try await withProxy(
        origin: origin, cache: { $0.transport = PublicHost(origin: origin.baseURL) }, body)
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await origin.stop()
    try result.get()
  }

  private func get(_ url: String, _ test: TestProxy) async throws -> Reply {
    let target = "/\(test.token)/" + url.replacing("://", with: "/")
    return try await test.connect { try await $0.reply(to: target, host: test.host) }
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
        let reply = try await test.connect {
          try await $0.reply(to: "/\(test.token)/\(path)", host: test.host)
        }
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
