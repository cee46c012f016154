// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// Stored bytes of which readers are told with the next ones, because those have arrived already.
@Suite(.timeLimit(.minutes(1))) struct DeferredWakeTests {
  /// The number of chunks that were taken of a response.
  private final class Taken: Sendable {
    private let state = Mutex(0)

    var count: Int { state.withLock { $0 } }

    /// Returns the number of the next chunk.
    func next() -> Int {
      state.withLock { count in
        defer { count += 1 }
        return count
      }
    }
  }

  @Test func `A reader is woken for new bytes behind which stored ones arrive, and then nothing`()
    async throws
  {
    let memory = MemoryTransport(seed: 7, length: 3_000_000)
    let stored: ByteRange = 1_200_000..<1_300_000
    let parts: [ByteRange] = [0..<1_100_000, 1_100_000..<1_200_000, stored]
    let chunks = parts.map { Data(memory.bytes.bytes(in: $0)) }
    let taken = Taken()
    let transport = ScriptedTransport { request in
      if request.headers["Range"]?.hasPrefix("bytes=\(stored.lowerBound)-") == true {
        return try await memory.send(request)
      }
      // Another server, which ignores ranges, and stalls.
      let body = AsyncThrowingStream<Data, any Error>(unfolding: {
        let number = taken.next()
        guard number < chunks.count else {
          try await Gate().wait()
          return nil
        }
        return chunks[number]
      })
      var response = OriginResponse(
        status: 200,
        headers: [
          "Content-Length": "\(memory.length)", "ETag": "\"7\"", "Cache-Control": "max-age=3600",
        ], body: body)
      response.hasMore = { taken.count < chunks.count }
      return response
    }
    try await withTransport(transport) { cache in
      let reader = try await cache.open(
        Resource(url: try #require(URL(string: "http://h/a"))))
      defer { reader.cancel() }
      _ = try await reader.bytes(in: stored)
      let wanted: ByteRange = 1_150_000..<1_150_010
      #expect(try await reader.waitUntilReadable(at: wanted.lowerBound).contains(wanted.lowerBound))
      let bytes = try await reader.bytes(in: wanted)
      #expect([UInt8](bytes) == memory.bytes.bytes(in: wanted))
    }
  }
}
