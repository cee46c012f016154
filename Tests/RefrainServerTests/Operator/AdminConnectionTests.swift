// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainServer

/// The connections to the operator's listener.
@Suite(.timeLimit(.minutes(2))) struct AdminConnectionTests {
  @Test
  func `A hundred idle connections to the operator's listener prevent no request once they leave`()
    async throws
  {
    try await withNode { test async throws in
      let server = try #require(test.server)
      let (port, most) = (test.adminPort, DescriptorBudget.forOperator)
      let refused = try await onThread {
        let first = try (0..<most).map { _ in try PlainSocket(port: port) }
        // Connections are counted when they are accepted.
        for _ in 0..<30_000 where server.adminConnectionCount < most { usleep(1000) }
        var refused = 0
        // Most of them wait to be accepted.
        for _ in 0..<2 {
          let others = try (0..<42).map { _ in try PlainSocket(port: port) }
          for other in others {
            let bytes = try other.receive(exactly: 12)
            if bytes == Array("HTTP/1.1 503".utf8) { refused += 1 }
            other.close()
          }
        }
        withExtendedLifetime(first) {}
        return refused
      }
      #expect(refused == 84)
      try await eventually("all are gone") { server.adminConnectionCount == 0 }
      #expect(try await test.admin("/metrics").status == 200)
    }
  }
}
