// SPDX-License-Identifier: MIT
public import Foundation

/// A cache directory and everything that goes on in it: the way in.
public final class MediaCache: Sendable {
  /// Opens a cache directory, making it where it is missing. Several caches, in several processes,
  /// may use one directory. Fast whatever the number of entries.
  public init(directory: URL, configuration: Configuration = Configuration()) throws { fatalError() }

  /// A reader of the resource. Makes no request: the first read does.
  public func open(_ resource: Resource, fill: FillPolicy? = nil) async throws -> MediaReader { fatalError() }

  /// Brings a range of the resource, or all of it, into the cache; what is stored is not asked for
  /// again. Gives way to readers. Cancelling the task stops it and keeps what has come.
  ///
  /// - Parameter progress: called as bytes are stored, at most some ten times a second and once at
  ///   the end, on a thread of Refrain's.
  @discardableResult
  public func prefetch(
    _ resource: Resource, range: ByteRange? = nil,
    progress: (@Sendable (PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation { fatalError() }

  /// The ordinary media file of a complete entry, which any program can open; nil while bytes are
  /// missing. The file is the cache's: open it, copy it, do not change it.
  public func completeFile(for key: CacheKey) async throws -> URL? { fatalError() }

  /// The key under which a resource is stored.
  public func key(for resource: Resource) -> CacheKey { fatalError() }

  /// Every entry stored, the most recently used first. Foreign and broken files are passed over.
  public func entries() async throws -> [EntrySummary] { fatalError() }

  /// The entry stored under a key, or nil.
  public func entry(for key: CacheKey) async throws -> EntrySummary? { fatalError() }

  /// What the directory takes on disk.
  public func usage() async throws -> Usage { fatalError() }

  /// Removes an entry. Readers that have it open in this process read on from what they hold; where
  /// another process writes it, `MediaCacheError.inUse` is thrown.
  /// - Returns: the bytes of disk that were freed; nil where there was no such entry.
  @discardableResult
  public func remove(_ key: CacheKey) async throws -> Int64? { fatalError() }

  /// Removes every entry that is not in use by another process.
  /// - Returns: the bytes of disk that were freed.
  @discardableResult
  public func removeAll() async throws -> Int64 { fatalError() }

  /// Checks every entry against its files, or one: what a record claims and the file does not hold is
  /// dropped from the record, so that it is fetched again.
  public func verify(_ key: CacheKey? = nil) async throws -> [VerifyResult] { fatalError() }

  /// What happens in this cache, from the call on. Slow consumers lose the oldest events.
  public func events() -> AsyncStream<CacheEvent> { fatalError() }

  /// Ends every reader and fetch, and writes what is known down. The cache cannot be used after it.
  public func close() async { fatalError() }

  public struct Usage: Sendable, Hashable, Codable {
    /// Allocated blocks of everything in the directory, in bytes.
    public var allocatedBytes: Int64
    public var limit: Int64?
    public var entries: Int
  }

  public struct PrefetchProgress: Sendable, Hashable {
    /// Bytes of the range that are stored.
    public var storedBytes: Int64
    /// The range's size; nil while the length of the resource is unknown.
    public var totalBytes: Int64?
    /// Bytes received from the origin by this prefetch.
    public var bytesFromOrigin: Int64
  }

  public struct VerifyResult: Sendable, Hashable {
    public var key: CacheKey?
    public var directory: URL
    /// What was wrong, a sentence each; empty where all is well.
    public var problems: [String]
    /// Bytes that were dropped from the record.
    public var droppedBytes: Int64
  }
}

/// What is stored of one resource.
public struct EntrySummary: Sendable, Hashable {
  public var key: CacheKey
  public var url: URL
  public var length: Int64?
  public var mimeType: String?
  public var validator: String?
  public var spans: RangeSet<Int64>
  public var cachedBytes: Int64
  public var allocatedBytes: Int64
  public var lastAccess: Date
  public var isComplete: Bool
  /// A process has it open.
  public var isInUse: Bool
  /// The data file: sparse while the entry is not complete.
  public var file: URL
}

/// Something that happened in a cache.
public enum CacheEvent: Sendable {
  case opened(CacheKey)
  case fetchStarted(CacheKey, ByteRange)
  case fetchFinished(CacheKey, ByteRange, (any Error)?)
  /// Bytes that came from the origin.
  case received(CacheKey, Int)
  /// Bytes given to a reader from what was stored before it was opened.
  case servedFromDisk(CacheKey, Int)
  case committed(CacheKey, ByteRange)
  case generationChanged(CacheKey)
  case evicted(CacheKey, bytes: Int64)
  case failed(CacheKey, MediaCacheError)
  /// Something odd that was worked around: a foreign file, a broken record, a full disk.
  case warning(String)
}
