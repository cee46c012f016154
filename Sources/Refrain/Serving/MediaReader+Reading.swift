// SPDX-License-Identifier: MIT
public import Foundation

/// Reading: every call looks for bytes (`find`), and only copies by itself.
extension MediaReader {
  // MARK: The resource

  /// Returns the known properties of the resource. Waits for the origin's first response if
  /// nothing is stored.
  ///
  /// - Throws: `MediaCacheError`; `CancellationError` when the task or the reader is cancelled.
  public func contentInformation() async throws -> ContentInformation {
    try await find(at: nil) { $0.lookUpInformation($1) }.found
  }

  /// Returns `contentInformation()`, for callers on a thread of their own. Blocks.
  public func contentInformationBlocking() throws -> ContentInformation {
    try findBlocking(at: nil) { $0.lookUpInformation($1) }.found
  }

  // MARK: Bytes

  /// Waits until at least one byte at `offset` is readable, and returns the readable range from
  /// there; an empty one if `offset` is the end of the resource, or beyond it.
  public func waitUntilReadable(at offset: Int64) async throws -> ByteRange {
    let place = try Self.place(offset)
    return switch try await find(at: place, { $0.lookUp($1, at: place, count: 0) }).found {
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
    let place = try Self.place(offset)
    var failures = 0
    while true {
      let (generation, found) = try await find(at: place) {
        $0.lookUp($1, at: place, count: buffer.count)
      }
      switch found {
      case .file(let file, let upTo):
        let space = Self.space(in: buffer, for: upTo - offset)
        if let count = file.readWithoutWaiting(into: space, at: offset) {
          return deliver(offset, count)
        }
        // Only that thread writes there, and this waits for it.
        nonisolated(unsafe) let lent = space
        let count = await IOThreads.shared.run {
          (try? file.read(into: lent, at: offset)) ?? 0
        }
        if count > 0 { return deliver(offset, count) }
        try recover(generation, file, at: offset, count: space.count, &failures)
      case .memory(let bytes): return deliver(offset, Self.copy(bytes, to: buffer))
      case .end: return 0
      }
    }
  }

  /// Reads as `read(into:at:)`, for callers on a thread of their own. Blocks. Never call it on a
  /// thread of Swift concurrency.
  public func readBlocking(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws -> Int {
    let place = try Self.place(offset)
    var failures = 0
    while true {
      let (generation, found) = try findBlocking(at: place) {
        $0.lookUp($1, at: place, count: buffer.count)
      }
      switch found {
      case .file(let file, let upTo):
        let space = Self.space(in: buffer, for: upTo - offset)
        let count = (try? file.read(into: space, at: offset)) ?? 0
        if count > 0 { return deliver(offset, count) }
        try recover(generation, file, at: offset, count: space.count, &failures)
      case .memory(let bytes): return deliver(offset, Self.copy(bytes, to: buffer))
      case .end: return 0
      }
    }
  }

  /// Waits until at least one byte at `offset` is available, for front ends that pass on the file
  /// itself. Counts up to `count` of the available bytes as read.
  package func available(at offset: Int64, count: Int) async throws -> AvailableBytes {
    let place = try Self.place(offset)
    var failures = 0
    while true {
      let (generation, found) = try await find(at: place) {
        $0.lookUp($1, at: place, count: count)
      }
      switch found {
      case .file(let file, let upTo):
        // If another program has cut the file short, sendfile(2) would wait for bytes that never
        // come.
        let wanted = Int(min(Int64(max(count, 1)), upTo - offset))
        guard file.reaches(offset + Int64(wanted)) else {
          try recover(generation, file, at: offset, count: wanted, &failures)
          continue
        }
        deliver(offset, Int(min(Int64(count), upTo - offset)))
        return .file(file, upTo: upTo)
      case .memory(let bytes):
        let part = bytes.prefix(count)
        deliver(offset, part.count)
        return .memory(part)
      case .end: return .end
      }
    }
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
    chunks(in: range ?? 0..<Int64.max, longest: Chunks.longest)
  }

  /// As `chunks(in:)`, in chunks of at most that length; the first may have 120 KiB all the same.
  package func chunks(in range: ByteRange, longest: Int) -> Chunks {
    Chunks(reader: self, range: range, longest: longest)
  }

  /// Returns the beginning of `buffer` that so many bytes can fill.
  private static func space(
    in buffer: UnsafeMutableRawBufferPointer, for count: Int64
  ) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(min(count, Int64(buffer.count)))])
  }

  private static func copy(_ bytes: Data, to buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(bytes.count, buffer.count)
    bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[..<count])) }
    return count
  }
}

/// Looking for bytes, or for the first response.
extension MediaReader {
  /// Neither waits nor touches a file. Records an offset as the read position.
  private typealias Look<Found: Sendable> =
    (inout GenerationState, ReaderID) -> GenerationState.Lookup<Found>

  /// Looks, and waits until something is found.
  ///
  /// - Parameter place: the offset to wait for; nil: for the first response.
  private func find<Found>(
    at place: Int64?, _ look: Look<Found>
  ) async throws -> (generation: Generation, found: Found) {
    while true {
      switch try step(look) {
      case (let generation, _, let found?): return (generation, found)
      case (let generation, let id, nil): try await generation.wait(id, at: place)
      }
    }
  }

  /// As `find`, but blocks the thread.
  private func findBlocking<Found>(
    at place: Int64?, _ look: Look<Found>
  ) throws -> (generation: Generation, found: Found) {
    while true {
      switch try step(look) {
      case (let generation, _, let found?): return (generation, found)
      case (let generation, let id, nil): try generation.waitBlocking(id, at: place)
      }
    }
  }

  /// Looks, in the current generation if nothing was read of this one.
  ///
  /// - Returns: nil as what was found if it has to be waited for.
  private func step<Found>(_ look: Look<Found>) throws -> (Generation, ReaderID, Found?) {
    while true {
      let (generation, id) = try current()
      switch generation.withState({ look(&$0, id) }) {
      case .found(let found): return (generation, id, found)
      case .wait: return (generation, id, nil)
      case .moved: try move(from: generation)
      case .failed(let error): throw error
      }
    }
  }

  /// Checks and clamps an offset: no resource is that long, and sums with larger offsets could
  /// overflow.
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
    let longest: Int

    /// The first chunk size; chunks from the network are smaller. Initially below the size from
    /// which malloc(3) maps fresh pages.
    static let size = 120 << 10
    /// While the requested bytes are available at once, each chunk is twice as long as the one
    /// before, up to this: a call costs some microseconds besides copying.
    static let longest = 960 << 10

    public func makeAsyncIterator() -> AsyncIterator {
      reader.setEnd(range.upperBound, readsOn: true)
      return AsyncIterator(
        reader: reader, range: range, longest: longest, offset: range.lowerBound)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
      let reader: MediaReader
      let range: ByteRange
      let longest: Int
      var offset: Int64
      var size = Chunks.size

      public mutating func next() async throws -> Data? {
        guard offset < range.upperBound else { return nil }
        let (left, isHuge) = range.upperBound.subtractingReportingOverflow(offset)
        let capacity = isHuge || left > Int64(size) ? size : Int(left)
        // Not zeroed, unlike a `Data` created with a size.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        let count: Int
        do {
          count = try await reader.read(into: buffer, at: offset)
        } catch {
          buffer.deallocate()
          throw error
        }
        guard count > 0, let base = buffer.baseAddress else {
          buffer.deallocate()
          return nil
        }
        offset += Int64(count)
        size = count < capacity ? Chunks.size : Swift.min(size * 2, longest)
        return Data(
          bytesNoCopy: base, count: count,
          deallocator: .custom { pointer, _ in pointer.deallocate() })
      }
    }
  }
}
