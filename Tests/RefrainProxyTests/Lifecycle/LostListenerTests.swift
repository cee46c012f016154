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
            let descriptor = try #require(PortDescriptors.listener(at: port))
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
          let descriptor = try #require(PortDescriptors.listener(at: port))
          let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
          try #require(other >= 0 && dup2(other, descriptor) == descriptor)
          // Has the port, and does not listen: it cannot be bound again.
          defer { close(other) }
          try await eventually("the port is taken") { PortDescriptors.take(port, other) }
          await test.proxy.listener.examine()
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
        await test.proxy.listener.examine()
        let descriptor = try #require(PortDescriptors.listener(at: port))
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(other >= 0 && dup2(other, descriptor) == descriptor)
        close(other)
        // A child of another test may have a copy until it runs its program.
        try await eventually("nobody accepts") { !FreePort.accepts(port) }
        await test.proxy.listener.examine()
        try await test.proxy.waitUntilListening()
        #expect(FreePort.accepts(port))
        #expect(test.port == port)
        #expect(try await test.get("/a").body == bytes)
      }
    }
  }
#endif
