// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import Refrain

  /// Origins that require Digest authentication (RFC 7616).
  @Suite(.timeLimit(.minutes(1))) struct DigestAuthenticationTests {
    private let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 4) }

    private func read(
      _ url: URL, headers: HeaderFields = [:], from cache: MediaCache, _ range: ByteRange = 0..<100
    ) async throws -> [UInt8] {
      let reader = try await cache.open(Resource(url: url, headers: headers))
      defer { reader.cancel() }
      return try await Array(reader.bytes(in: range))
    }

    @Test(arguments: [true, false])
    func `The user and password of a URL answer a Digest challenge`(
      hasQuality: Bool
    ) async throws {
      let origin = try DigestOrigin(body: body) { $0.hasQuality = hasQuality }
      defer { origin.stop() }
      try await withCache { test in
        let target = "/a%2Fb/c%C3%A4/d.mp3?x=%5B&y=a/b?c"
        let bytes = try await read(
          origin.url(target), from: test.cache, 0..<Int64(body.count))
        #expect(bytes == body)
        #expect(origin.requests.allSatisfy { $0.target == target })
        // Basic, which was not asked for, is sent once.
        #expect(origin.requests.map(\.scheme).prefix(3) == ["Basic", nil, "Digest"])
        #expect(origin.requests.dropFirst().allSatisfy { $0.scheme != "Basic" })
      }
    }

    @Test func `Basic credentials are not sent again to an origin that asked for Digest`()
      async throws
    {
      let origin = try DigestOrigin(body: body)
      defer { origin.stop() }
      let basic = "Basic " + Data("anna:secret".utf8).base64EncodedString()
      let transport = CurlTransport(.init(environment: ["no_proxy": "digest.later"]))
      for number in 0..<5 {
        let url = try origin.url("/\(number).mp3", user: nil)
        let response = try await transport.send(
          OriginRequest(url: url, headers: ["Authorization": basic]))
        let whole = try await response.whole()
        #expect(response.status == 200 && whole == Data(body))
      }
      #expect(origin.requests.filter { $0.scheme == "Basic" }.count == 1)
    }

    @Test func `Digest is used if Basic is refused and both are offered`() async throws {
      let origin = try DigestOrigin(body: body) { $0.otherChallenge = "Basic realm=\"cam\"" }
      defer { origin.stop() }
      try await withCache { test in
        let bytes = try await read(origin.url("/a"), from: test.cache)
        #expect(bytes == Array(body[..<100]))
      }
    }

    @Test func `A wrong password is the origin's 401, and is not tried without end`() async throws {
      let origin = try DigestOrigin(body: body)
      defer { origin.stop() }
      try await withCache { test in
        for _ in 0..<2 {
          await expectError(.status, status: 401) {
            try await read(origin.url("/a", user: "anna:wrong"), from: test.cache)
          }
        }
        #expect(origin.requests.count <= 5)
        #expect(origin.requests.filter { $0.scheme == "Basic" }.count == 1)
      }
    }

    @Test func `Another user's password is not used`() async throws {
      let origin = try DigestOrigin(body: body)
      defer { origin.stop() }
      try await withCache { test in
        let bytes = try await read(origin.url("/a"), from: test.cache)
        #expect(bytes == Array(body[..<100]))
        for user in [nil, "eve:secret"] {
          await expectError(.status, status: 401) {
            try await read(origin.url("/b", user: user), from: test.cache)
          }
        }
      }
    }

    @Test func `The hook may return a URL with a user and password`() async throws {
      let origin = try DigestOrigin(body: body)
      defer { origin.stop() }
      let renewed = try origin.url("/a")
      try await withCache({
        $0.authorize = { resource, status in
          #expect(status == 401)
          var resource = resource
          resource.url = renewed
          return resource
        }
      }) { test in
        let bytes = try await read(origin.url("/a", user: nil), from: test.cache)
        #expect(bytes == Array(body[..<100]))
      }
    }

    @Test func `A redirect to another origin does not answer its challenge`() async throws {
      let other = try DigestOrigin(body: body)
      defer { other.stop() }
      let target = try other.url("/b", user: nil)
      let server = try RawServer.answering(
        "HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n")
      defer { server.stop() }
      let url = try #require(URL(string: "http://anna:secret@127.0.0.1:\(server.port)/a"))
      try await withCache { test in
        await expectError(.status, status: 401) { try await read(url, from: test.cache) }
        #expect(other.requests.allSatisfy { $0.scheme == nil })
      }
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "PUT"])
    func `A relayed request is authorized`(_ method: String) async throws {
      let origin = try DigestOrigin()
      defer { origin.stop() }
      let basic = "Basic " + Data("anna:secret".utf8).base64EncodedString()
      let transport = CurlTransport(.init(environment: ["no_proxy": "digest.\(method)"]))
      // A body cannot be sent again: the origin has to be known.
      _ = try await transport.send(
        OriginRequest(
          relaying: "GET", url: origin.url("/a", user: nil), headers: ["Authorization": basic])
      ).whole()
      let body = method == "PUT" ? OriginRequest.Body.parts([Data("tune".utf8)]) : nil
      let response = try await transport.send(
        OriginRequest(
          relaying: method, url: origin.url("/b", user: nil), headers: ["Authorization": basic],
          body: body))
      #expect(response.status == 200)
      let expected = method == "HEAD" ? Data() : Data(origin.body)
      #expect(try await response.whole() == expected)
      #expect(origin.requests.last?.method == method)
      #expect(origin.requests.filter { $0.scheme == "Basic" }.count == 1)
    }

    @Test func `Passwords of a credentials file answer a Digest challenge`() async throws {
      let origin = try DigestOrigin()
      defer { origin.stop() }
      let file = FileManager.default.temporaryDirectory.appending(
        path: "refrain-netrc-\(UUID().uuidString)")
      try Data("machine 127.0.0.1 login anna password secret\n".utf8).write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      var settings = CurlTransport.Settings(environment: [:])
      settings.credentialsFile = file.path(percentEncoded: false)
      let transport = CurlTransport(settings)
      for path in ["/a", "/b", "/c"] {
        let response = try await transport.send(
          OriginRequest(url: origin.url(path, user: nil)))
        #expect(response.status == 200)
        #expect(try await response.whole() == Data(origin.body))
      }
      #expect(origin.requests.filter { $0.scheme == "Basic" }.count == 1)
    }

    @Test func `Many requests at once are all authorized`() async throws {
      let origin = try DigestOrigin(body: body) { $0.usesOfNonce = 5 }
      defer { origin.stop() }
      let basic = "Basic " + Data("anna:secret".utf8).base64EncodedString()
      let transport = CurlTransport(.init(environment: ["no_proxy": "digest.many"]))
      try await concurrently(40) { number in
        let url = try origin.url("/\(number)", user: nil)
        let request = OriginRequest(url: url, headers: ["Authorization": basic])
        let whole = try await transport.send(request).whole()
        #expect(whole == Data(body))
      }
    }
  }
#endif
