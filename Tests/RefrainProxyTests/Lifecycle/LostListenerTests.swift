// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Glibc
  import Refrain
  import Testing

  @testable import RefrainProxy

  /// The system closes the listening socket, as iOS does to suspended programs.
  @Suite(.timeLimit(.minutes(2))) struct LostListenerTests {
    @Test func `The same URLs and connections are served after the listening socket is lost`()
      async throws
    {
      try await withProxy { test in
        let bytes = SyntheticBytes(seed: 1).bytes(in: 0..<100_000)
        test.origin.serve(.synthetic(seed: 1, length: 100_000), at: "/a")
        let (port, target) = (test.port, try test.target("/a"))
        let url = try test.proxy.url(for: test.origin.url("/a"))
        try await test.connect { connection in
          for _ in 0..<3 {
            #expect(try await test.get("/a").body == bytes)
            #expect(try await connection.reply(to: target, host: test.host).body == bytes)
            let descriptor = try #require(Self.listener(at: port))
            #expect(shutdown(descriptor, CInt(SHUT_RDWR)) == 0)
            try await eventually("it listens again") {
              FreePort.accepts(port) && test.proxy.listeningAddress?.port == port
            }
            #expect(try test.proxy.url(for: test.origin.url("/a")) == url)
          }
          #expect(try await connection.reply(to: target, host: test.host).body == bytes)
        }
        #expect(try await test.get("/a").body == bytes)
      }
    }

    /// As while the proxy stops, when the listening socket is closed before the connections.
    @Test func `A connection is served while nothing listens`() async throws {
      try await withProxy { test in
        for path in ["/a", "/b"] {
          test.origin.serve(.synthetic(seed: 1, length: 1000), at: path)
        }
        let bytes = SyntheticBytes(seed: 1).bytes(in: 0..<1000)
        let (port, host) = (test.port, test.host)
        let (first, second) = (try test.target("/a"), try test.target("/b"))
        try await test.connect { connection in
          #expect(try await connection.reply(to: first, host: host).body == bytes)
          let descriptor = try #require(Self.listener(at: port))
          let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
          try #require(other >= 0 && dup2(other, descriptor) == descriptor)
          // Has the port, and does not listen: it cannot be bound again.
          defer { close(other) }
          try await eventually("the port is taken") { Self.take(port, other) }
          test.proxy.examineListener()
          try await eventually("it no longer listens") { test.proxy.listeningAddress == nil }
          #expect(try await connection.reply(to: second, host: host).body == bytes)
        }
        try await eventually("it listens again") { test.proxy.listeningAddress?.port == port }
      }
    }

    @Test func `A listening socket that is lost without notice is bound again`() async throws {
      try await withProxy { test in
        let bytes = SyntheticBytes(seed: 1).bytes(in: 0..<1000)
        test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
        let port = test.port
        // A working one stays as it is.
        await test.proxy.examineListener().value
        let descriptor = try #require(Self.listener(at: port))
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(other >= 0 && dup2(other, descriptor) == descriptor)
        close(other)
        // A child of another test may have a copy until it runs its program.
        try await eventually("nobody accepts") { !FreePort.accepts(port) }
        // Somebody else has begun to examine it.
        test.proxy.examineListener()
        try await test.proxy.waitUntilListening()
        #expect(FreePort.accepts(port))
        #expect(test.port == port)
        #expect(try await test.get("/a").body == bytes)
      }
    }

    @Test func `The operator's listening socket is bound again after it is lost`() async throws {
      try await withNode { test in
        let port = test.adminPort
        for _ in 0..<3 {
          #expect(try await test.admin("/health").status == 200)
          let descriptor = try #require(Self.listener(at: port))
          #expect(shutdown(descriptor, CInt(SHUT_RDWR)) == 0)
          try await eventually("it listens again") {
            FreePort.accepts(port) && test.adminPort == port
          }
        }
        #expect(try await test.admin("/health").status == 200)
      }
      // Its end is not the loss of the socket.
      try await withNode { test in
        let port = test.adminPort
        await test.proxy.stop()
        try await PlainSocket.nobodyListens(port: port)
        #expect(test.proxy.adminListeningAddress == nil)
      }
    }

    @Test func `The operator is served while nothing listens`() async throws {
      try await withNode { test in
        let port = test.adminPort
        let host = "127.0.0.1:\(port)"
        try await RawConnection.open(port: port) { connection in
          #expect(try await connection.reply(to: "/health", host: host).status == 200)
          let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
          try #require(other >= 0)
          // Has the port, and does not listen: it cannot be bound again.
          defer { close(other) }
          try await eventually("the port is taken") {
            guard let descriptor = Self.listener(at: port) else { return false }
            shutdown(descriptor, CInt(SHUT_RDWR))
            // Otherwise it listens again already.
            return Self.take(port, other)
          }
          try await eventually("it no longer listens") {
            test.proxy.adminListeningAddress == nil
          }
          #expect(try await connection.reply(to: "/health", host: host).status == 200)
        }
      }
    }

    /// Binds a socket to a port of which connections remain, so that nobody else can.
    private static func take(_ port: Int, _ descriptor: CInt) -> Bool {
      var isReusing: CInt = 1
      let size = socklen_t(MemoryLayout<CInt>.size)
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReusing, size)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      isReusing = 0
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReusing, size)
      return result == 0
    }

    /// Returns the descriptor of this process that listens on the port.
    private static func listener(at port: Int) -> CInt? {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return names.compactMap { CInt($0) }.first { descriptor in
        var isListening: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0,
          isListening != 0
        else { return false }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            getsockname(descriptor, $0, &length)
          }
        }
        return result == 0 && UInt16(bigEndian: address.sin_port) == UInt16(port)
      }
    }
  }
#endif
