// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import Testing

@testable import Refrain

#if DEBUG
  /// The path of a byte is short: what each chunk and each read cost is bounded.
  @Suite(.timeLimit(.minutes(1))) struct LockCountTests {
    private static let length: Int64 = 6 << 20

    @Test func `A stored chunk takes the lock of its generation three times`() async throws {
      let chunks = Mutex(0)
      let transport = MemoryTransport(seed: 3, length: Self.length) { _ in
        chunks.withLock { $0 += 1 }
      }
      try await withTransport(
        ScriptedTransport { try await transport.send($0) },
        // Nobody reads on, and all of it is to arrive.
        { $0.firstRequest = Self.length }
      ) { cache in
        let events = cache.events(includingTraffic: true)
        let reader = try await cache.open(
          Resource(url: try #require(URL(string: "http://h/a"))))
        defer { reader.cancel() }
        reader.setEnd(Self.length, readsOn: true)
        let before = reader.generation.lockCount
        _ = try await reader.waitUntilReadable(at: 0)
        var stored: Int64 = 0
        for await event in events {
          if case .committed(_, let range) = event { stored = range.upperBound }
          if stored == Self.length { break }
        }
        let locks = reader.generation.lockCount - before
        let count = chunks.withLock { $0 }
        #expect(count > 100)
        #expect(locks <= 3 * count + 60, "\(locks) for \(count) chunks")
      }
    }

    @Test func `A read of stored bytes takes three locks`() async throws {
      let transport = MemoryTransport(seed: 4, length: Self.length)
      try await withTransport(ScriptedTransport { try await transport.send($0) }) { cache in
        let resource = Resource(url: try #require(URL(string: "http://h/a")))
        let first = try await cache.open(resource)
        _ = try await first.bytes(in: 0..<Self.length)
        first.cancel()
        let reader = try await cache.open(resource)
        defer { reader.cancel() }
        let before = reader.lockCount
        let size = 64 << 10
        try await Task.detached {
          let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
          defer { buffer.deallocate() }
          for offset in stride(from: 0, to: Self.length, by: size) {
            let count = try await reader.read(into: buffer, at: offset)
            try #require(count == size)
          }
        }.value
        let reads = Int(Self.length) / size
        // The entry of the reader before may still be recorded.
        let locks = reader.lockCount - before
        #expect(locks <= 3 * reads + 20, "\(locks) for \(reads) reads")
      }
    }
  }
#endif
