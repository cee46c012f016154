// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import Refrain

  extension RawServer {
    /// Returns a server that answers each request with these bytes, and keeps its connections open.
    static func answering(_ answer: String) throws -> RawServer {
      try RawServer { connection in
        while connection.readRequest().hasSuffix("\r\n\r\n") { connection.send(answer) }
        connection.waitForEnd()
      }
    }
  }

  extension OriginRequest.Body {
    static func parts(_ parts: [Data]) -> Self {
      let (rest, continuation) = AsyncStream.makeStream(of: Data.self)
      for part in parts { continuation.yield(part) }
      continuation.finish()
      return Self(length: parts.reduce(0) { $0 + Int64($1.count) }) {
        try #require(await rest.first { !$0.isEmpty })
      }
    }
  }

  extension OriginResponse {
    /// Returns the whole body.
    func whole() async throws -> Data {
      var whole = Data()
      for try await chunk in body { whole.append(chunk) }
      return whole
    }
  }
#endif
