// SPDX-License-Identifier: MIT
public import Foundation

extension MediaReader {
  /// Returns the known properties of the resource. Waits for the origin's first response if
  /// nothing is stored.
  ///
  /// - Throws: `MediaCacheError`; `CancellationError` when the task or the reader is cancelled.
  public func contentInformation() async throws -> ContentInformation {
    try await find(at: nil) { $0.lookUpInformation($1) }.found
  }

  /// Returns `contentInformation()`, for callers on a thread of their own. Blocks.
  public func contentInformationBlocking() throws -> ContentInformation {
    try IOThreads.shared.wait { try await self.contentInformation() }
  }

  /// Waits until at least one byte at `offset` is readable, and returns the readable range from
  /// there; an empty one if `offset` is the end of the resource, or beyond it.
  public func waitUntilReadable(at offset: Int64) async throws -> ByteRange {
    switch try await find(at: Self.place(offset), count: 0).found {
    case .file(_, let upTo): offset..<upTo
    case .memory(let bytes): offset..<(offset + Int64(bytes.count))
    case .end: offset..<offset
    }
  }

  /// Reads the bytes available at `offset`, waiting for the first: at least one byte, at most the
  /// buffer; 0 at the end of the resource and beyond it.
  public func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) async throws -> Int {
    let offset = try Self.place(offset)
    for _ in 0..<3 {
      let (generation, found) = try await find(at: offset, count: buffer.count)
      guard case .file(let file, let upTo) = found else { return take(found, into: buffer, offset) }
      // Only one thread writes there, and this waits for it.
      let part = buffer.prefix(Int(clamping: upTo - offset))
      nonisolated(unsafe) let space = UnsafeMutableRawBufferPointer(rebasing: part)
      var count = file.readWithoutWaiting(into: space, at: offset) ?? 0
      if count == 0 {
        count = await IOThreads.shared.run { file.copy(into: space, at: offset) ?? 0 }
      }
      if count > 0 { return deliver(offset, count) }
      generation.lose(offset..<(offset + Int64(space.count)), of: file)
    }
    throw unreadable
  }

  /// Reads as `read(into:at:)`, for callers on a thread of their own. Blocks. Never call it on a
  /// thread of Swift concurrency.
  public func readBlocking(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws -> Int {
    let offset = try Self.place(offset)
    let (generation, id) = try current()
    // Stored bytes need no task.
    let look = generation.withState { $0.lookUp(id, at: offset, count: buffer.count) }
    if case .found(let found) = look {
      guard case .file(let file, let upTo) = found else { return take(found, into: buffer, offset) }
      let part = buffer.prefix(Int(clamping: upTo - offset))
      let count = file.copy(into: UnsafeMutableRawBufferPointer(rebasing: part), at: offset) ?? 0
      if count > 0 { return deliver(offset, count) }
    }
    // Only one thread writes there, and this one waits for it.
    nonisolated(unsafe) let lent = buffer
    return try IOThreads.shared.wait { try await self.read(into: lent, at: offset) }
  }

  /// Waits until at least one byte at `offset` is available, for front ends that pass on the file
  /// itself. Counts up to `count` of the available bytes as read.
  package func available(at offset: Int64, count: Int) async throws -> AvailableBytes {
    let offset = try Self.place(offset)
    for _ in 0..<3 {
      let (generation, found) = try await find(at: offset, count: count)
      switch found {
      case .file(let file, let upTo):
        // If the file was cut short, sendfile(2) would wait for bytes that never come.
        let end = offset + min(Int64(max(count, 1)), upTo - offset)
        if file.reaches(end) {
          deliver(offset, min(count, Int(end - offset)))
          return found
        }
        generation.lose(offset..<end, of: file)
      case .memory(let bytes):
        let part = bytes.prefix(count)
        deliver(offset, part.count)
        return .memory(part)
      case .end: return .end
      }
    }
    throw unreadable
  }

  /// Returns the bytes of a range, all at once; fewer if the resource ends earlier.
  ///
  /// - Throws: `MediaCacheError`, `.badRange` if the range begins below 0 or is too long to hold
  ///   in memory.
  public func bytes(in range: ByteRange) async throws -> Data {
    _ = try Self.place(range.lowerBound)
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

  private var unreadable: MediaCacheError {
    MediaCacheError(
      .storage, "The stored bytes of \(entry.key) cannot be read.",
      remedy: "Check the disk; `refrain verify` drops damaged bytes.")
  }

  /// Copies what is not in the file.
  private func take(
    _ found: AvailableBytes, into buffer: UnsafeMutableRawBufferPointer, _ offset: Int64
  ) -> Int {
    guard case .memory(let bytes) = found else { return 0 }
    let part = bytes.prefix(buffer.count)
    part.withUnsafeBytes { buffer.copyMemory(from: $0) }
    return deliver(offset, part.count)
  }
}

extension MediaReader {
  private func find(
    at offset: Int64, count: Int
  ) async throws -> (generation: Generation, found: AvailableBytes) {
    try await find(at: offset) { $0.lookUp($1, at: offset, count: count) }
  }

  /// Looks, in the current generation if nothing was read of this one, and waits until something is
  /// found at `offset`; nil: waits for the first response.
  func find<Found: Sendable>(
    at offset: Int64?, _ look: (inout GenerationState, ReaderID) -> GenerationState.Lookup<Found>
  ) async throws -> (generation: Generation, found: Found) {
    while true {
      let (generation, id) = try current()
      switch generation.withState({ look(&$0, id) }) {
      case .found(let found): return (generation, found)
      case .wait: try await generation.wait(id, at: offset)
      case .moved: try move(from: generation)
      case .failed(let error): throw error
      }
    }
  }

  /// Checks and clamps an offset: sums with larger ones could overflow.
  static func place(_ offset: Int64) throws(MediaCacheError) -> Int64 {
    guard offset >= 0 else {
      throw MediaCacheError(
        .badRange, "\(offset) is not a valid offset.", remedy: "Offsets begin at 0.")
    }
    return min(offset, 1 << 62)
  }
}

extension MediaReader {
  /// The bytes of a resource in order, in chunks of bounded size as they arrive, none of them
  /// empty. Ends at the end of the range or of the resource.
  public struct Chunks: AsyncSequence, Sendable {
    public typealias Element = Data

    let reader: MediaReader
    let range: ByteRange
    /// While the requested bytes are available at once, each chunk is twice as long as the one
    /// before, up to this: a call costs some microseconds besides copying.
    package var longest = 960 << 10

    /// The first chunk size: below the size from which malloc(3) maps fresh pages.
    static let size = 120 << 10

    public func makeAsyncIterator() -> AsyncIterator {
      reader.setEnd(range.upperBound, readsOn: true)
      return AsyncIterator(chunks: self, offset: range.lowerBound)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
      let chunks: Chunks
      var offset: Int64
      var size = Chunks.size

      public mutating func next() async throws -> Data? {
        guard offset < chunks.range.upperBound else { return nil }
        let left = chunks.range.upperBound - (try MediaReader.place(offset))
        let capacity = Int(Swift.min(Int64(size), left))
        // Not zeroed, unlike a `Data` created with a size.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        var isTaken = false
        defer { if !isTaken { buffer.deallocate() } }
        let count = try await chunks.reader.read(into: buffer, at: offset)
        guard count > 0, let base = buffer.baseAddress else { return nil }
        isTaken = true
        offset += Int64(count)
        size = count < capacity ? Chunks.size : Swift.min(size * 2, chunks.longest)
        return Data(
          bytesNoCopy: base, count: count,
          deallocator: .custom { pointer, _ in pointer.deallocate() })
      }
    }
  }
}
