// SPDX-License-Identifier: MIT
public import Foundation

/// Reading: every call asks `next` for the next step, and only waits and copies by itself.
extension MediaReader {
  // MARK: The resource

  /// Returns the known properties of the resource. Waits for the origin's first response if
  /// nothing is stored.
  ///
  /// - Throws: `MediaCacheError`; `CancellationError` when the task or the reader is cancelled.
  public func contentInformation() async throws -> ContentInformation {
    while true {
      switch try nextInformation() {
      case .known(let information): return information
      case .wait(let wait): try await wait.inTask()
      }
    }
  }

  /// Returns `contentInformation()`, for callers on a thread of their own. Blocks.
  public func contentInformationBlocking() throws -> ContentInformation {
    while true {
      switch try nextInformation() {
      case .known(let information): return information
      case .wait(let wait): try wait.blocking()
      }
    }
  }

  // MARK: Bytes

  /// Waits until at least one byte at `offset` is readable, and returns the readable range from
  /// there; an empty one if `offset` is the end of the resource, or beyond it.
  public func waitUntilReadable(at offset: Int64) async throws -> ByteRange {
    while true {
      switch try next(at: offset, count: 0) {
      case .stored(let part): return offset..<part.upTo
      case .memory(let bytes): return offset..<(offset + Int64(bytes.count))
      case .end: return offset..<offset
      case .wait(let wait): try await wait.inTask()
      }
    }
  }

  /// Reads the bytes available at `offset`, waiting for the first: at least one byte, at most the
  /// buffer; 0 at the end of the resource and beyond it.
  public func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) async throws -> Int {
    var failures = 0
    while true {
      switch try next(at: offset, count: buffer.count) {
      case .stored(let part):
        let space = part.space(in: buffer)
        if let count = part.file.readWithoutWaiting(into: space, at: offset) {
          return deliver(offset, count)
        }
        let lent = LentBuffer(space)
        let count = await IOThreads.shared.run {
          (try? part.file.read(into: lent.buffer, at: offset)) ?? 0
        }
        if count > 0 { return deliver(offset, count) }
        try recover(part, count: space.count, &failures)
      case .memory(let bytes): return deliver(offset, Self.copy(bytes, to: buffer))
      case .end: return 0
      case .wait(let wait): try await wait.inTask()
      }
    }
  }

  /// Reads as `read(into:at:)`, for callers on a thread of their own. Blocks. Never call it on a
  /// thread of Swift concurrency.
  public func readBlocking(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws -> Int {
    var failures = 0
    while true {
      switch try next(at: offset, count: buffer.count) {
      case .stored(let part):
        let space = part.space(in: buffer)
        let count = (try? part.file.read(into: space, at: offset)) ?? 0
        if count > 0 { return deliver(offset, count) }
        try recover(part, count: space.count, &failures)
      case .memory(let bytes): return deliver(offset, Self.copy(bytes, to: buffer))
      case .end: return 0
      case .wait(let wait): try wait.blocking()
      }
    }
  }

  /// Returns the bytes of a range, all at once; fewer if the resource ends earlier.
  ///
  /// - Throws: `MediaCacheError`, `.badRange` if the range begins below 0 or is too long to hold
  ///   in memory.
  public func bytes(in range: ByteRange) async throws -> Data {
    try Self.check(range.lowerBound)
    guard range.upperBound - range.lowerBound <= Int64(Int32.max) else {
      throw MediaCacheError(
        .badRange, "\(range) is too long to read at once.", remedy: "Read it in chunks.")
    }
    var all = Data()
    for try await chunk in chunks(in: range) { all.append(chunk) }
    return all
  }

  /// Returns the bytes of a range in order, in chunks as they arrive; nil: the whole resource.
  public func chunks(in range: ByteRange? = nil) -> Chunks {
    Chunks(reader: self, range: range ?? 0..<Int64.max)
  }

  private static func copy(_ bytes: Data, to buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(bytes.count, buffer.count)
    bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[..<count])) }
    return count
  }
}
