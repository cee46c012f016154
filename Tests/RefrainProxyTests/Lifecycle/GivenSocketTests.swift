// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Glibc
  import Testing

  @testable import RefrainProxy

  /// A socket that outlives a proxy.
  @Suite(.timeLimit(.minutes(2))) struct GivenSocketTests {
    /// Returns a socket bound to a free port of 127.0.0.1.
    private func socket(listens: Bool) throws -> CInt {
      let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
      let descriptor = Glibc.socket(AF_INET, type, 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      try #require(descriptor >= 0 && result == 0)
      if listens { try #require(listen(descriptor, 100) == 0) }
      return descriptor
    }

    @Test func `A request waits in the given socket for the next proxy`() async throws {
      let descriptor = try socket(listens: true)
      defer { close(descriptor) }
      let given = try ListeningSocket(descriptor: descriptor)
      #expect(given.address.host == "127.0.0.1" && given.address.port > 0)
      let port = given.address.port
      let origin = try await OriginServer.start()
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      let song = SyntheticBytes(seed: 1).bytes(in: 0..<1000)
      @Sendable func configure(
        _ configuration: inout CacheProxy.Configuration, _ origin: OriginServer
      ) {
        configuration.origin = origin.baseURL
        // Without effect.
        configuration.port = 1
        configuration.socket = given
      }
      try await withProxy(origin: origin, proxy: configure) { test async throws in
        #expect(test.proxy.listeningAddress == given.address)
        #expect(test.proxy.configuration.port == port)
        #expect(try await test.get("/a").body == song)
      }
      #expect(FreePort.accepts(port))
      // Several, of which the first are accepted as soon as the proxy can.
      try await withThrowingTaskGroup(of: Void.self) { group in
        let (asked, told) = AsyncStream<Void>.makeStream()
        for _ in 0..<30 {
          group.addTask {
            try await RawConnection.open(port: port) { connection in
              try await connection.request("/a", host: "127.0.0.1:\(port)")
              told.yield()
              let reply = try await connection.readReply()
              #expect(reply.status == 200 && reply.body == song, "\(reply.status)")
            }
          }
        }
        var count = 0
        for await _ in asked {
          count += 1
          if count == 30 { break }
        }
        try await withProxy(origin: origin, proxy: configure) { _ async throws in
          try await group.waitForAll()
        }
      }
      await origin.stop()
    }

    @Test func `A client that was accepted just before the end is served`() async throws {
      let descriptor = try socket(listens: true)
      defer { close(descriptor) }
      let given = try ListeningSocket(descriptor: descriptor)
      try await withReverseProxy(proxy: {
        $0.socket = given
        $0.lastRequestTimeout = .seconds(60)
        $0.stopTimeout = .seconds(60)
      }) { test async throws in
        test.serve("/a", ["Cache-Control": "max-age=60"])
        let host = test.host
        try await test.connect { connection in
          try await eventually("it is accepted") { test.proxy.connectionCount == 1 }
          async let stopped: Void = test.proxy.stop()
          try await eventually("nobody is accepted any more") {
            test.proxy.listeningAddress == nil
          }
          let reply = try await connection.reply(to: "/a", host: host)
          #expect(reply.status == 200 && reply.body == Caching.bytes(1))
          #expect(reply["Connection"] == "close")
          await stopped
        }
      }
    }

    /// Returns a socket that listens on a free port of all addresses, of IPv4 too; nil if the
    /// machine has no IPv6.
    private func dualSocket() throws -> CInt? {
      let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
      let descriptor = Glibc.socket(AF_INET6, type, 0)
      guard descriptor >= 0 else { return nil }
      var isForOne: CInt = 0
      let size = socklen_t(MemoryLayout<CInt>.size)
      try #require(
        setsockopt(descriptor, CInt(IPPROTO_IPV6), IPV6_V6ONLY, &isForOne, size) == 0)
      // Listening without an address, on a free port of all of them.
      try #require(listen(descriptor, 100) == 0)
      return descriptor
    }

    @Test func `A given socket of IPv6 serves the clients of IPv4`() async throws {
      guard let descriptor = try dualSocket() else { return }
      defer { close(descriptor) }
      let given = try ListeningSocket(descriptor: descriptor)
      try await withReverseProxy(proxy: { $0.socket = given }) { test async throws in
        test.serve("/a", ["Cache-Control": "max-age=60"])
        for host in [test.host, test.host, "localhost:\(test.port)"] {
          let reply = try await test.reply(to: "/a", host: host)
          #expect(reply.status == 200 && reply.body == Caching.bytes(1), "\(host)")
        }
        let other = try await test.reply(to: "/a", host: "10.0.0.9:1")
        #expect(other.status == 421)
        try await eventually("all requests are logged") { test.log.all.count == 4 }
        #expect(test.log.all.allSatisfy { $0.client == "127.0.0.1" })
      }
    }

    @Test func `A given socket has the queue of one that the proxy opens`() async throws {
      let descriptor = try socket(listens: true)
      defer { close(descriptor) }
      let given = try ListeningSocket(descriptor: descriptor)
      let most = try String(contentsOfFile: "/proc/sys/net/core/somaxconn", encoding: .utf8)
      let longest = try #require(UInt32(most.trimmingCharacters(in: .whitespacesAndNewlines)))
      try await withReverseProxy(proxy: { $0.socket = given }) { _ in
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        try #require(getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, &info, &size) == 0)
        // Of a socket that listens: the length of its queue.
        #expect(info.tcpi_sacked == min(1024, longest))
      }
    }

    @Test func `A socket beyond loopback needs an origin, as an address does`() throws {
      let descriptor = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      // Listening without an address, on a free port of all of them.
      try #require(listen(descriptor, 1) == 0)
      var configuration = CacheProxy.Configuration()
      configuration.socket = try ListeningSocket(descriptor: descriptor)
      #expect(configuration.socket?.address.host == "0.0.0.0")
      #expect(throws: CacheProxyError.self) { try Routes(configuration) }
      configuration.origin = URL(string: "https://example.org")
      _ = try Routes(configuration)
    }

    @Test func `A descriptor that does not listen is refused`() throws {
      let bound = try socket(listens: false)
      let local = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
      let file = open("/dev/null", O_RDONLY)
      defer { for descriptor in [bound, local, file] { close(descriptor) } }
      for descriptor in [bound, local, file, -1] {
        #expect(throws: CacheProxyError.self) { try ListeningSocket(descriptor: descriptor) }
      }
    }
  }
#endif
