// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// An origin without ranges whose responses end early: each new one begins at the first byte.
@Suite(.timeLimit(.minutes(1))) struct CutShortTests {
  private let length: Int64 = 1_440_007
  private let cut: Int64 = 914_001
  private let bytes = SyntheticBytes(seed: 7)

  /// - Parameter ends: the end of each response; the last applies to all later ones.
  private func transport(_ ends: [Int64]) -> ScriptedTransport {
    let number = Mutex(0)
    return ScriptedTransport { [bytes, length] _ in
      let index = number.withLock { number in
        defer { number += 1 }
        return number
      }
      let end = ends[min(index, ends.count - 1)]
      let body = AsyncThrowingStream<Data, any Error> { continuation in
        for start in stride(from: 0, to: end, by: 50_000) {
          continuation.yield(Data(bytes.bytes(in: start..<min(start + 50_000, end))))
        }
        continuation.finish(
          throwing: end == length ? nil : TransportError(.connectionLost, "It broke."))
      }
      return OriginResponse(
        status: 200,
        headers: [
          "Content-Length": "\(length)", "ETag": "\"7\"", "Cache-Control": "max-age=3600",
        ], body: body)
    }
  }

  private func resource() throws -> Resource {
    Resource(url: try #require(URL(string: "http://h/a")))
  }

  @Test
  func `Three breaks at one offset are an error, and the bytes before it are kept`() async throws {
    let transport = transport([cut])
    try await withTransport(transport, { $0.retry.attempts = 100 }) { cache in
      let resource = try resource()
      let reports = Mutex<[MediaCache.PrefetchProgress]>([])
      let error = await #expect(throws: MediaCacheError.self) {
        try await cache.prefetch(resource) { report in reports.withLock { $0.append(report) } }
      }
      #expect(error?.code == .unreachable && error?.remedy.isEmpty == false)
      // Once more, if the reader was not waiting when the third one broke.
      #expect([3, 6].contains(transport.requests.count))
      try await #expect(cache.progress(of: resource).spans == RangeSet(0..<cut))
      // No progress is reported twice.
      let reported = reports.withLock { $0 }
      #expect(Set(reported).count == reported.count)
    }
  }

  @Test func `Breaks only a few bytes apart count as breaks at the same offset`() async throws {
    let transport = transport((0..<100).map { cut + $0 * 10 })
    try await withTransport(transport, { $0.retry.attempts = 100 }) { cache in
      let reader = try await cache.open(resource())
      defer { reader.cancel() }
      await #expect(throws: MediaCacheError.self) {
        _ = try await reader.bytes(in: length - 10..<length)
      }
      // Once more, if the reader was not waiting when the third one broke.
      #expect([3, 6].contains(transport.requests.count))
    }
  }

  @Test func `A fetch is retried as long as it receives new bytes`() async throws {
    let transport = transport((1...9).map { $0 * 150_000 } + [length])
    try await withTransport(transport, { $0.retry.attempts = 2 }) { cache in
      let resource = try resource()
      try await cache.prefetch(resource)
      try await #expect(cache.progress(of: resource).isComplete)
      #expect(transport.requests.count == 10)
    }
  }

  @Test func `A reader receives the bytes before the break, then the error`() async throws {
    try await withTransport(transport([cut])) { cache in
      let reader = try await cache.open(resource())
      defer { reader.cancel() }
      let read = try await reader.bytes(in: 0..<cut)
      #expect(Array(read) == bytes.bytes(in: 0..<cut))
      await #expect(throws: MediaCacheError.self) { try await reader.bytes(in: cut..<cut + 1) }
    }
  }
}
