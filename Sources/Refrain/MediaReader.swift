// SPDX-License-Identifier: MIT
public import Foundation

/// One consumer's view of an entry: a player, a request of a proxy, a tool.
///
/// A reader sees one generation of the resource from its first byte on. Where it reads says what is
/// fetched: reading on in sequence widens the read-ahead, reading elsewhere is a seek. All methods
/// may be called from any thread.
public final class MediaReader: Sendable {
  init() {}

  /// What is known of the resource. Waits for the origin's first answer where nothing is stored.
  ///
  /// - Throws: `MediaCacheError`; `CancellationError` when the task or the reader is cancelled.
  public func contentInformation() async throws -> ContentInformation { fatalError() }

  /// As `contentInformation()`, for callers on a thread of their own, which it blocks.
  public func contentInformationBlocking() throws -> ContentInformation { fatalError() }

  /// Waits until at least one byte at `offset` is readable, and says how far it goes: the range
  /// begins at `offset`; it is empty where `offset` is the end of the resource.
  public func waitUntilReadable(at offset: Int64) async throws -> ByteRange { fatalError() }

  /// Reads what is there at `offset`, waiting for the first byte: at least one byte, at most the
  /// buffer; 0 at the end of the resource.
  public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) async throws -> Int { fatalError() }

  /// As `read(into:at:)`, for callers on a thread of their own, which it blocks. Never call it on a
  /// thread of Swift's concurrency.
  public func readBlocking(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int { fatalError() }

  /// The bytes of a range, all at once; fewer where the resource ends before.
  public func bytes(in range: ByteRange) async throws -> Data { fatalError() }

  /// The bytes of a range in order, in chunks as they come; nil: the whole resource.
  public func chunks(in range: ByteRange? = nil) -> Chunks { Chunks() }

  /// Ends every wait of this reader with `CancellationError`, and releases what it held. Final.
  public func cancel() { fatalError() }

  /// What this reader was given so far.
  public var statistics: Statistics { fatalError() }

  /// The ranges of this reader's generation that are stored.
  public var cachedSpans: RangeSet<Int64> { fatalError() }

  public struct Statistics: Sendable, Hashable {
    /// Bytes handed to this reader.
    public var bytesRead: Int64 = 0
    /// Of these, bytes that were stored before the reader was opened.
    public var bytesFromDisk: Int64 = 0
    /// Bytes that came from the origin for this resource since the reader was opened, for whichever
    /// reader.
    public var bytesFromOrigin: Int64 = 0
    /// Requests that were sent to the origin for this resource since the reader was opened.
    public var requests = 0

    public init() {}
  }

  public struct Chunks: AsyncSequence, Sendable {
    public typealias Element = Data
    public struct AsyncIterator: AsyncIteratorProtocol {
      public mutating func next() async throws -> Data? { fatalError() }
    }
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
  }
}
