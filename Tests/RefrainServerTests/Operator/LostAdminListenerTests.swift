// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Glibc
  import Refrain
  import RefrainProxy
  import RefrainServer
  import Testing

  /// The system closes the operator's listening socket, as iOS does to suspended programs.
  @Suite(.timeLimit(.minutes(2))) struct LostAdminListenerTests {
    @Test func `The operator's listening socket is bound again after it is lost`() async throws {
      try await withNode { test in
        let port = test.adminPort
        for _ in 0..<3 {
          #expect(try await test.admin("/health").status == 200)
          let descriptor = try #require(PortDescriptors.listener(at: port))
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
        #expect(test.server?.adminListeningAddress == nil)
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
            guard let descriptor = PortDescriptors.listener(at: port) else { return false }
            shutdown(descriptor, CInt(SHUT_RDWR))
            // Otherwise it listens again already.
            return PortDescriptors.take(port, other)
          }
          try await eventually("it no longer listens") {
            // It was bound again while the port was taken, and cannot be another time.
            if let descriptor = PortDescriptors.listener(at: port) {
              shutdown(descriptor, CInt(SHUT_RDWR))
            }
            return test.server?.adminListeningAddress == nil
          }
          #expect(try await connection.reply(to: "/health", host: host).status == 200)
        }
      }
    }
  }
#endif
