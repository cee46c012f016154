// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  /// The network through installed HTTP and SOCKS5 proxies.
  @Suite(
    .enabled(
      if: RequiredProgram.nginx.isUsable && RealProxy.allCases.allSatisfy(\.program.isUsable)),
    .timeLimit(.minutes(2)))
  struct ProxyTests {
    private let name = "tune.flac"
    private let content = testBytes(1_000_017, seed: 1)

    /// Returns a URL of the origin with an address of this machine that is not exempt from
    /// proxying.
    private func url(_ origin: RealOrigin, scheme: String = "http", port: Int? = nil) throws -> URL
    {
      try #require(URL(string: "\(scheme)://0.0.0.0:\(port ?? origin.port)/\(name)"))
    }

    private func read(
      _ url: URL, of origin: RealOrigin, _ environment: [String: String],
      _ change: (inout CurlTransport.Settings) -> Void = { _ in }
    ) async throws -> Data {
      var settings = CurlTransport.Settings(environment: environment)
      change(&settings)
      return try await origin.withCache({ configuration in
        configuration.transport = CurlTransport(settings)
        configuration.retry.attempts = 2
      }) { try await $0.read(Resource(url: url)).bytes }
    }

    @Test(arguments: [
      (RealProxy.tinyproxy, "http"), (.microsocks, "socks5"), (.microsocks, "socks5h"),
    ])
    func `The proxy from the environment is used with its password`(
      _ proxy: RealProxy, _ scheme: String
    ) async throws {
      try await withRealOrigin(.nginx) { origin in
        try origin.put(name, content)
        try await proxy.run(in: origin.directory) { proxyURL in
          for variable in ["http_proxy", "all_proxy", "ALL_PROXY"] {
            let environment = [variable: proxyURL(scheme, RealProxy.password)]
            let bytes = try await read(url(origin), of: origin, environment)
            #expect(isSame(bytes, content))
            _ = try await origin.withCache { try await $0.removeAll() }
          }
          // Without the proxy, this would succeed.
          let error = await #expect(throws: MediaCacheError.self) {
            _ = try await read(url(origin), of: origin, ["http_proxy": proxyURL(scheme, "wrong")])
          }
          #expect(error.map { !"\($0)".contains("wrong") } == true)
        }
      }
    }

    @Test func `A TLS origin is reached through an HTTP or SOCKS proxy`() async throws {
      try await withTLSOrigin { origin, port, authority in
        try origin.put(name, content)
        for (proxy, scheme) in [(RealProxy.tinyproxy, "http"), (.microsocks, "socks5h")] {
          try await proxy.run(in: origin.directory) { proxyURL in
            let bytes = try await read(
              url(origin, scheme: "https", port: port), of: origin,
              [
                "https_proxy": proxyURL(scheme, RealProxy.password),
                "SSL_CERT_FILE": authority.certificate,
              ])
            #expect(isSame(bytes, content))
            _ = try await origin.withCache { try await $0.removeAll() }
            let error = await #expect(throws: MediaCacheError.self) {
              _ = try await read(
                url(origin, scheme: "https", port: port), of: origin,
                ["https_proxy": proxyURL(scheme, "wrong"), "SSL_CERT_FILE": authority.certificate])
            }
            #expect(error?.code == .unreachable)
            #expect(
              error.map { "\($0)".contains("through a proxy") } == true,
              "\(String(describing: error))")
          }
        }
      }
    }

    @Test
    func `Hosts excluded from the proxy and local addresses are reached directly`() async throws {
      try await withRealOrigin(.nginx) { origin in
        try origin.put(name, content)
        let dead = "http://127.0.0.1:\(try RawServer.deafPort())"
        let direct = try await read(
          url(origin), of: origin, ["http_proxy": dead, "no_proxy": "x, 0.0.0.0"])
        #expect(isSame(direct, content))
        let local = try await read(origin.url(name), of: origin, ["http_proxy": dead])
        #expect(isSame(local, content))
      }
    }

    @Test func `An invalid proxy is reported without its password`() async throws {
      try await withRealOrigin(.nginx) { origin in
        let error = await #expect(throws: MediaCacheError.self) {
          _ = try await read(url(origin), of: origin, ["http_proxy": "odd://me:secret@p.example"])
        }
        #expect(error.map { "\($0)".contains("proxy") && !"\($0)".contains("secret") } == true)
      }
    }

    @Test func `An unreachable proxy is reported without its password`() async throws {
      try await withRealOrigin(.nginx) { origin in
        let port = try RawServer.deafPort()
        let error = await #expect(throws: MediaCacheError.self) {
          _ = try await read(
            url(origin), of: origin, ["http_proxy": "http://me:secret@127.0.0.1:\(port)"])
        }
        #expect(error.map { "\($0)".contains("(through a proxy) refused") } == true)
        #expect(error.map { !"\($0)".contains("secret") } == true)
      }
    }
  }

  /// Runs a test over nginx, which also accepts TLS on another port.
  func withTLSOrigin(
    _ body: (_ origin: RealOrigin, _ port: Int, _ authority: PrivateAuthority) async throws -> Void
  ) async throws {
    try await withRealOrigin(.nginx) { origin in
      let authority = try await PrivateAuthority(in: origin.directory)
      let port = try #require(FreePort.next())
      let text = Nginx.configuration(
        port: port, directory: origin.directory,
        certificate: (authority.serverCertificate, authority.serverKey))
      let file = origin.directory.appending(path: "tls.conf")
      try Data(text.replacing("nginx.pid", with: "tls.pid").utf8).write(to: file)
      let process = try await RealOrigin.launch(
        .nginx,
        [
          "-p", origin.directory.path(percentEncoded: false), "-c",
          file.path(percentEncoded: false), "-e", "stderr",
        ], port: port, in: origin.directory)
      do {
        try await body(origin, port, authority)
      } catch {
        await process.kill()
        throw error
      }
      await process.kill()
    }
  }
#endif
