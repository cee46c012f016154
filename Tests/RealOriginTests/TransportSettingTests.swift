// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  /// The transport's trusted certificates, user agent and routes, against nginx.
  @Suite(
    .enabled(if: RequiredProgram.nginx.isUsable && RequiredProgram.openssl.isUsable),
    .timeLimit(.minutes(2)))
  struct TransportSettingTests {
    private let name = "tune.flac"
    private let content = testBytes(100_017, seed: 1)

    private func read(
      _ text: String, of origin: RealOrigin, environment: [String: String] = [:],
      headers: HeaderFields = [:], _ change: (inout CurlTransport.Settings) -> Void = { _ in }
    ) async throws -> Data {
      var settings = CurlTransport.Settings(environment: environment)
      change(&settings)
      let url = try #require(URL(string: text))
      defer { try? FileManager.default.removeItem(at: origin.directory.appending(path: "cache")) }
      return try await origin.withCache({ configuration in
        configuration.transport = CurlTransport(settings)
        configuration.retry.attempts = 2
      }) { try await $0.read(Resource(url: url, headers: headers)).bytes }
    }

    @Test func `A private authority is trusted only if it is configured`() async throws {
      try await withTLSOrigin { origin, port, authority in
        try origin.put(name, content)
        let url = "https://127.0.0.1:\(port)/\(name)"
        let error = await #expect(throws: MediaCacheError.self) {
          _ = try await read(url, of: origin)
        }
        #expect(error.map { "\($0)".contains("is not trusted") } == true)
        let directory = try await authority.hashedDirectory()
        for environment in [
          ["SSL_CERT_FILE": authority.certificate], ["SSL_CERT_DIR": directory],
        ] {
          #expect(isSame(try await read(url, of: origin, environment: environment), content))
        }
        let insecure = try await read(url, of: origin) { $0.verifiesCertificates = false }
        #expect(isSame(insecure, content))
        // Trusted, but issued for another host.
        let other = await #expect(throws: MediaCacheError.self) {
          _ = try await read(
            "https://other.example:\(port)/\(name)", of: origin,
            environment: ["SSL_CERT_FILE": authority.certificate]
          ) { $0.addresses = ["other.example:\(port):127.0.0.1"] }
        }
        #expect(other.map { "\($0)".contains("is not trusted") } == true)
        let named = try await read(
          "https://song.example:\(port)/\(name)", of: origin,
          environment: ["SSL_CERT_FILE": authority.certificate]
        ) { $0.addresses = ["song.example:\(port):127.0.0.1"] }
        #expect(isSame(named, content))
      }
    }

    @Test func `An unreadable certificate file is reported as such`() async throws {
      try await withTLSOrigin { origin, port, _ in
        let error = await #expect(throws: MediaCacheError.self) {
          _ = try await read(
            "https://127.0.0.1:\(port)/\(name)", of: origin,
            environment: ["SSL_CERT_FILE": "/nowhere/ca.pem"])
        }
        #expect(error.map { "\($0)".contains("/nowhere/ca.pem") } == true)
      }
    }

    @Test func `Credentials of a netrc file are sent only to their host`() async throws {
      try await withRealOrigin(.nginx) { origin in
        try origin.put(name, content)
        let file = origin.directory.appending(path: "netrc")
        try Data("machine 127.0.0.1 login me password secret\n".utf8).write(to: file)
        let path = file.path(percentEncoded: false)
        _ = try await read("http://127.0.0.1:\(origin.port)/\(name)", of: origin) {
          $0.credentialsFile = path
        }
        _ = try await read("http://localhost:\(origin.port)/\(name)", of: origin) {
          $0.credentialsFile = path
        }
        _ = try await read(
          "http://127.0.0.1:\(origin.port)/\(name)", of: origin,
          headers: ["Authorization": "Bearer own"]
        ) { $0.credentialsFile = path }
        let expected = ["Basic bWU6c2VjcmV0", "-", "Bearer own"]
        for _ in 0..<500 where try Nginx.log(in: origin.directory).count < 3 {
          try await Task.sleep(for: .milliseconds(10))
        }
        let seen = try Nginx.log(in: origin.directory).map(\.authorization)
        var order: [String] = []
        for value in seen where order.last != value { order.append(value) }
        #expect(order == expected)
      }
    }

    @Test
    func `A configured network interface is used, and an unknown one is an error`() async throws {
      try await withRealOrigin(.nginx) { origin in
        try origin.put(name, content)
        let url = "http://127.0.0.1:\(origin.port)/\(name)"
        for place in ["127.0.0.1", "lo"] {
          #expect(isSame(try await read(url, of: origin) { $0.networkInterface = place }, content))
        }
        let error = await #expect(throws: MediaCacheError.self) {
          _ = try await read(url, of: origin) { $0.networkInterface = "nowhere7" }
        }
        #expect(error?.code == .unreachable)
      }
    }
  }
#endif
