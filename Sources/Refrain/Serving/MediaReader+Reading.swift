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
    try await find { try nextInformation() }
  }

  /// Returns `contentInformation()`, for callers on a thread of their own. Blocks.
  public func contentInformationBlocking() throws -> ContentInformation {
    try findBlocking { try nextInformation() }
  }

  // MARK: Bytes

  /// Waits until at least one byte at `offset` is readable, and returns the readable range from
  /// there; an empty one if `offset` is the end of the resource, or beyond it.
  public func waitUntilReadable(at offset: Int64) async throws -> ByteRange {
    switch try await find({ try next(at: offset, count: 0) }) {
    case .stored(let part): offset..<part.upTo
    case .memory(let bytes): offset..<(offset + Int64(bytes.count))
    case .end: offset..<offset
    }
  }

  /// Reads the bytes available at `offset`, waiting for the first: at least one byte, at most the
  /// buffer; 0 at the end of the resource and beyond it.
  public func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) async throws -> Int {
    var failures = 0
    while true {
      switch try await find({ try next(at: offset, count: buffer.count) }) {
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
      switch try findBlocking({ try next(at: offset, count: buffer.count) }) {
      case .stored(let part):
        let space = part.space(in: buffer)
        let count = (try? part.file.read(into: space, at: offset)) ?? 0
        if count > 0 { return deliver(offset, count) }
        try recover(part, count: space.count, &failures)
      case .memory(let bytes): return deliver(offset, Self.copy(bytes, to: buffer))
      case .end: return 0
      }
    }
  }

  /// The bytes available at an offset, for front ends that pass on the file itself.
  package enum Available: Sendable {
    /// In the file, from the requested offset up to this one.
    case file(EntryFile, upTo: Int64)
    /// In memory, from the requested offset on.
    case memory(Data)
    case end
  }

  /// Waits until at least one byte at `offset` is available. Counts up to `count` of the available
  /// bytes as read.
  package func available(at offset: Int64, count: Int) async throws -> Available {
    var failures = 0
    while true {
      switch try await find({ try next(at: offset, count: count) }) {
      case .stored(let part):
        // If another program has cut the file short, sendfile(2) would wait for bytes that never
        // come.
        let wanted = Int(min(Int64(max(count, 1)), part.upTo - offset))
        guard part.file.reaches(offset + Int64(wanted)) else {
          try recover(part, count: wanted, &failures)
          continue
        }
        deliver(offset, Int(min(Int64(count), part.upTo - offset)))
        return .file(part.file, upTo: part.upTo)
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
    chunks(in: range ?? 0..<Int64.max, longest: Chunks.longest)
  }

  /// As `chunks(in:)`, in chunks of at most that length; the first may have 120 KiB all the same.
  package func chunks(in range: ByteRange, longest: Int) -> Chunks {
    Chunks(reader: self, range: range, longest: longest)
  }

  private static func copy(_ bytes: Data, to buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(bytes.count, buffer.count)
    bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[..<count])) }
    return count
  }
}

/// The steps of reading, which neither wait nor touch a file.
extension MediaReader {
  /// The next step of reading.
  enum Step<Found> {
    case found(Found)
    /// For bytes at an offset; nil: for the first response.
    case wait(Generation, ReaderID, Int64?)
  }

  /// What there is at an offset.
  enum Found {
    case stored(StoredPart)
    /// In memory, from the offset on.
    case memory(Data)
    case end
  }

  /// Stored bytes from an offset up to another.
  struct StoredPart: Sendable {
    let generation: Generation
    let file: EntryFile
    let offset: Int64
    let upTo: Int64

    /// Returns the beginning of `buffer` that the part can fill.
    func space(in buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer {
      let count = upTo - offset < Int64(buffer.count) ? Int(upTo - offset) : buffer.count
      return UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
    }
  }

  /// Waits until a step has found something.
  private func find<Found>(_ step: () throws -> Step<Found>) async throws -> Found {
    while true {
      switch try step() {
      case .found(let found): return found
      case .wait(let generation, let id, let place): try await generation.wait(id, at: place)
      }
    }
  }

  private func findBlocking<Found>(_ step: () throws -> Step<Found>) throws -> Found {
    while true {
      switch try step() {
      case .found(let found): return found
      case .wait(let generation, let id, let place): try generation.waitBlocking(id, at: place)
      }
    }
  }

  /// Returns the next step at an offset. Records the offset as the read position, and moves to the
  /// current generation if nothing was read of this one.
  func next(at offset: Int64, count: Int) throws -> Step<Found> {
    try Self.check(offset)
    let place = Self.bounded(offset)
    while true {
      let (generation, id) = try current()
      switch generation.lookUp(id, at: place, count: count) {
      case .stored(let upTo, let file):
        let part = StoredPart(generation: generation, file: file, offset: offset, upTo: upTo)
        return .found(.stored(part))
      case .transient(let bytes): return .found(.memory(bytes))
      case .end: return .found(.end)
      case .moved: try move(from: generation)
      case .failed(let error): throw error
      case .wait: return .wait(generation, id, place)
      }
    }
  }

  /// Returns the next step towards the content information.
  func nextInformation() throws -> Step<ContentInformation> {
    while true {
      let (generation, id) = try current()
      switch generation.withState({ $0.lookUpInformation(id) }) {
      case .known(let information): return .found(information)
      case .wait: return .wait(generation, id, nil)
      case .moved: try move(from: generation)
      case .failed(let error): throw error
      }
    }
  }

  /// Clamps an offset: no resource is that long, and sums with larger offsets could overflow.
  static func bounded(_ offset: Int64) -> Int64 { min(offset, 1 << 62) }

  static func check(_ offset: Int64) throws(MediaCacheError) {
    guard offset >= 0 else {
      throw MediaCacheError(
        .badRange, "\(offset) is not a valid offset.", remedy: "Offsets begin at 0.")
    }
  }
}
