// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Expects the error of a cache: its code, its status if one is given, and a remedy where there is
/// always one.
@discardableResult
func expectError<Value>(
  _ code: MediaCacheError.Code, status: Int? = nil,
  sourceLocation: SourceLocation = #_sourceLocation, isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws -> Value
) async -> MediaCacheError? {
  let error = await #expect(throws: MediaCacheError.self, sourceLocation: sourceLocation) {
    _ = try await body()
  }
  #expect(error?.code == code, sourceLocation: sourceLocation)
  if let status { #expect(error?.status == status, sourceLocation: sourceLocation) }
  // Some errors of these kinds leave nothing to do.
  if ![.closed, .badRange, .offline, .status].contains(code) {
    #expect(error?.remedy.isEmpty == false, "\(code)", sourceLocation: sourceLocation)
  }
  return error
}

/// Runs `body` so many times at once, each with its number.
func concurrently(
  _ count: Int, _ body: @Sendable @escaping (Int) async throws -> Void
) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    for number in 0..<count { group.addTask { try await body(number) } }
    try await group.waitForAll()
  }
}

/// Returns the warnings of a cache that is closed.
func warnings(_ events: AsyncStream<CacheEvent>) async -> [String] {
  var warnings: [String] = []
  for await case .warning(let text) in events { warnings.append(text) }
  return warnings
}

extension ReadTerms {
  /// As a proxy has them.
  static let ofClient: ReadTerms = {
    var terms = ReadTerms()
    terms.audience = .client
    return terms
  }()
}

extension MediaReader {
  /// Reads a byte here and there until the reader's entry is stored (again): a pause has to pass
  /// before that is tried.
  func readUntilStoring(in range: ByteRange) async throws {
    var offset: Int64 = 0
    while !isStoring {
      offset = (offset + 777_777) % (range.upperBound - range.lowerBound - 1)
      let start = range.lowerBound + offset
      _ = try await bytes(in: start..<start + 1)
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Reads as a player does, which does not say where it will stop: in pieces, from an offset until
  /// so many bytes have been read.
  func play(_ count: Int64, from start: Int64 = 0) async throws -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
    defer { buffer.deallocate() }
    var bytes: [UInt8] = []
    while bytes.count < count {
      bytes += buffer[..<(try await read(into: buffer, at: start + Int64(bytes.count)))]
    }
    return bytes
  }
}
