// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks

@testable import Refrain

/// An origin without a network: synthetic bytes under a strong ETag, in chunks of random sizes. It
/// reports every chunk before passing it on.
final class MemoryTransport: Transport {
  let bytes: SyntheticBytes
  let length: Int64
  private let chunkSize: Int
  private let onChunk: @Sendable (ByteRange) async -> Void
  private let state = Mutex((received: RangeSet<Int64>(), total: Int64(0)))

  init(
    seed: UInt64, length: Int64, chunkSize: Int = 48 << 10,
    onChunk: @Sendable @escaping (ByteRange) async -> Void = { _ in }
  ) {
    bytes = SyntheticBytes(seed: seed)
    self.length = length
    self.chunkSize = chunkSize
    self.onChunk = onChunk
  }

  /// The ranges passed on.
  var received: RangeSet<Int64> { state.withLock { $0.received } }
  /// The number of bytes passed on; a byte that came twice counts twice.
  var total: Int64 { state.withLock { $0.total } }

  func send(_ request: OriginRequest) async throws -> OriginResponse {
    let asked = request.headers["Range"]?.dropFirst("bytes=".count).split(
      separator: "-", omittingEmptySubsequences: false)
    let start = asked.flatMap { Int64($0[0]) } ?? 0
    let end = min((asked.flatMap { Int64($0[1]) } ?? length - 1) + 1, length)
    guard start < end else {
      return OriginResponse(
        status: 416, headers: ["Content-Range": "bytes */\(length)"], body: Body(self, 0..<0))
    }
    return OriginResponse(
      status: 206,
      headers: [
        "Content-Range": "bytes \(start)-\(end - 1)/\(length)", "ETag": "\"\(bytes.seed)\"",
        "Content-Length": "\(end - start)", "Cache-Control": "max-age=3600",
      ], body: Body(self, start..<end))
  }

  private func next(_ left: ByteRange) async throws -> ByteRange? {
    try Task.checkCancellation()
    guard !left.isEmpty else { return nil }
    let size = Int64.random(in: 1...Int64(chunkSize))
    let chunk = left.lowerBound..<min(left.lowerBound + size, left.upperBound)
    state.withLock { state in
      state.received.insert(contentsOf: chunk)
      state.total += chunk.upperBound - chunk.lowerBound
    }
    await onChunk(chunk)
    return chunk
  }

  private struct Body: AsyncSequence, Sendable {
    typealias Element = Data
    let transport: MemoryTransport
    let range: ByteRange

    init(_ transport: MemoryTransport, _ range: ByteRange) {
      self.transport = transport
      self.range = range
    }

    func makeAsyncIterator() -> Iterator { Iterator(transport: transport, left: range) }

    struct Iterator: AsyncIteratorProtocol {
      let transport: MemoryTransport
      var left: ByteRange

      mutating func next() async throws -> Data? { try await next(isolation: nil) }

      mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
        guard let chunk = try await transport.next(left) else { return nil }
        left = chunk.upperBound..<left.upperBound
        return Data(transport.bytes.bytes(in: chunk))
      }
    }
  }
}
