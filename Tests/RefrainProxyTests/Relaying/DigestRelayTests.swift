// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainProxy

  /// Origins that require Digest authentication, behind the proxy.
  @Suite(.timeLimit(.minutes(1))) struct DigestRelayTests {
    /// - Parameter fields: of the origin's response; `no-store` has it relayed.
    @Test(
      arguments: ["Cache-Control: max-age=600\r\nETag: \"1\"\r\n", "Cache-Control: no-store\r\n"]
    )
    func `The user and password of a proxied URL answer the origin's challenge`(
      _ fields: String
    ) async throws {
      let origin = try DigestOrigin { $0.fields = fields }
      defer { origin.stop() }
      try await withProxy { test async throws in
        let url = try test.proxy.url(for: Resource(url: origin.url("/a.mp3")))
        let target = url.path(percentEncoded: true)
        for headers in [[], ["Range: bytes=2-5"], ["Cache-Control: no-store"]] {
          let reply = try await test.reply(to: target, headers)
          let isPart = headers.first?.hasPrefix("Range") == true
          #expect(reply.status == (isPart ? 206 : 200))
          #expect(reply.body == (isPart ? Array(origin.body[2...5]) : origin.body))
          #expect(reply["WWW-Authenticate"] == nil)
        }
        #expect(origin.requests.filter { $0.scheme == "Basic" }.count == 1)
      }
    }

    /// A client would compute Digest for the proxy's path.
    @Test func `A client of many origins is asked for Basic in place of Digest`() async throws {
      let origin = try DigestOrigin()
      defer { origin.stop() }
      try await withProxy { test async throws in
        let url = try test.proxy.url(for: origin.url("/a.mp3", user: nil))
        let target = url.path(percentEncoded: true)
        for headers in [[], ["Cache-Control: no-store"]] {
          let refused = try await test.reply(to: target, headers)
          #expect(refused.status == 401)
          #expect(refused["WWW-Authenticate"] == "Basic realm=\"127.0.0.1\"")
          let basic = "Authorization: Basic " + Data("anna:secret".utf8).base64EncodedString()
          let reply = try await test.reply(to: target, [basic] + headers)
          #expect(reply.status == 200 && reply.body == origin.body)
        }
      }
    }

    @Test func `A client's Basic credentials answer the challenge of a Digest origin`() async throws
    {
      let origin = try DigestOrigin()
      defer { origin.stop() }
      let url = try origin.url("", user: nil)
      try await withReverseProxy(proxy: { $0.origin = url }) { test async throws in
        let basic = Data("anna:secret".utf8).base64EncodedString()
        for headers in [[], ["Cache-Control: no-store"]] {
          let reply = try await test.reply(to: "/a", ["Authorization: Basic \(basic)"] + headers)
          #expect(reply.status == 200 && reply.body == origin.body)
          let refused = try await test.reply(to: "/b", headers)
          #expect(refused.status == 401)
        }
      }
    }
  }
#endif
