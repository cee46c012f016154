// SPDX-License-Identifier: MIT
#if canImport(Darwin)
  import Foundation
  import OriginServer
  import Testing

  @testable import Refrain

  /// A whole cache over URLSession.
  @Suite(.timeLimit(.minutes(1))) struct URLSessionCacheTests {
    private let length: Int64 = 3_000_017
    private let bytes = SyntheticBytes(seed: 7)
    private var resource: OriginResource { .synthetic(seed: 7, length: length) }

    private func withURLSession(_ body: (TestCache) async throws -> Void) async throws {
      try await withCache({ $0.transport = URLSessionTransport() }) { try await body($0) }
    }

    @Test func `A resource is fetched once and then read from disk`() async throws {
      try await withURLSession { test in
        test.origin.serve(resource, at: "/a")
        try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
        try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
        let log = try await test.settledLog("/a")
        #expect(log.bytesSentTwice == 0)
        #expect(log.requests.first?.request.range == "bytes=0-")
        #expect(
          log.requests.allSatisfy {
            $0.request.headers.filter { $0.name.lowercased() == "accept-encoding" }.map(\.value)
              == ["identity"]
          })
      }
    }

    @Test(arguments: [
      Fault.drop(at: .body(5000)), .drop(at: .body(5000), reset: true), .closeWithoutAnswer,
      .unavailable(.seconds(0)), .truncatedBody(to: 100), .garbage(Array("nonsense\r\n\r\n".utf8)),
      .chunked, .informational(103), .ignoreRange, .wrongContentRange(start: 1),
    ])
    func `A read survives broken and invalid responses`(_ fault: Fault) async throws {
      try await withURLSession { test in
        test.origin.serve(resource, at: "/a")
        // Before the first byte, fewer attempts are made.
        test.origin.script("/a", .on(.where { (2...4).contains($0.number) }, fault))
        try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      }
    }

    @Test func `A cancelled reader leaves no running request`() async throws {
      try await withURLSession { test in
        test.origin.serve(resource, at: "/a")
        test.origin.script("/a", .on(.from(2), .stall(at: .body(1000))))
        let reader = try await test.reader("/a")
        _ = try await reader.bytes(in: 0..<10)
        reader.cancel()
        await test.cache.close()
        try await test.origin.wait(for: "/a") { $0.running == 0 }
      }
    }

    @Test func `A timeout of a suspended task is not the host's`() {
      func error(_ code: URLError.Code, isResting: Bool) -> TransportError {
        .urlSession(URLError(code), host: "h", beforeHead: false, isResting: isResting)
      }
      let resting = error(.timedOut, isResting: true)
      #expect(resting.cause == .unread && resting.code == .connectionLost)
      let silent = error(.timedOut, isResting: false)
      #expect(silent.cause == nil && silent.code == .timedOut)
      // Any other error is.
      let lost = error(.networkConnectionLost, isResting: true)
      #expect(lost.cause == nil)
    }
  }
#endif
