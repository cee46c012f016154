// SPDX-License-Identifier: MIT
public import Foundation

/// A cache directory and everything that goes on in it: the way in.
public final class MediaCache: Sendable {
  let context: CacheContext
  private let configuration: Configuration

  /// Opens a cache directory, making it where it is missing. Several caches, in several processes,
  /// may use one directory. Fast whatever the number of entries: nothing is read yet.
  ///
  /// On Apple's platforms what is stored is kept out of backups, and readable while the device is
  /// locked, so that what plays in the background plays on. Where the system refuses that, the
  /// first who listens to `events` is warned.
  ///
  /// - Parameter directory: the cache's own; `defaultDirectory` where none is named.
  /// - Throws: `MediaCacheError`, `.storage` where the directory cannot be used.
  public convenience init(
    directory: URL = MediaCache.defaultDirectory, configuration: Configuration = Configuration()
  ) throws {
    try self.init(directory: directory, configuration: configuration, disk: SystemDisk())
  }

  init(
    directory: URL, configuration: Configuration, disk: any Disk,
    bootIdentity: String = BootIdentity.current, slots: EntrySlots = .ofProcess
  ) throws {
    guard directory.isFileURL else {
      throw MediaCacheError(
        .storage, "\(directory) is not a directory of this machine.", remedy: "Use a file URL.")
    }
    let path = directory.standardizedFileURL.path(percentEncoded: false)
    let budget = DiskBudget(
      directory: path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path,
      limit: configuration.limit, disk: disk, bootIdentity: bootIdentity,
      clock: configuration.clock)
    let warnings: [String]
    do {
      warnings = try budget.create()
    } catch {
      throw DirectoryProblem.error(error, path: path)
    }
    self.configuration = configuration
    context = CacheContext(
      configuration: configuration, budget: budget,
      transport: configuration.transport ?? Self.platformTransport(), slots: slots)
    for warning in warnings { context.events.sendToFirstListener(.warning(warning)) }
  }

  /// The transport of the cache, or one as good, for what goes past the cache.
  package var relayingTransport: any RelayingTransport {
    context.transport as? any RelayingTransport ?? Self.platformTransport()
  }

  private static func platformTransport() -> any RelayingTransport {
    #if os(Linux)
      return CurlTransport()
    #else
      return URLSessionTransport()
    #endif
  }

  // MARK: Reading

  /// A reader of the resource, in the representation that its headers select (RFC 9111 §4.1).
  ///
  /// Makes no request, as a rule: the first read does. What is stored for other credentials
  /// (Authorization, or a user in the URL) is used once the origin has confirmed it to these, which
  /// costs one conditional request; what it has for these alone is stored apart. Responses that are
  /// `public` are for everybody, and a resource with a `key` of its own is one, whoever asks. While
  /// others wait for the first answer to a request with other headers, their answer is waited for.
  ///
  /// - Parameter fill: what is fetched beyond what is read; nil: `Configuration.fill`.
  /// - Throws: `MediaCacheError`: `.badURL` where the URL is neither http nor https; what the origin
  ///   answered where it refuses these credentials what is stored, or `.unreachable`;
  ///   `CancellationError`.
  public func open(_ resource: Resource, fill: FillPolicy? = nil) async throws -> MediaReader {
    try await open(resource, on: FreshnessRequirements(), fill: fill)
  }

  static func check(_ url: URL) throws {
    let scheme = url.scheme?.lowercased()
    guard scheme == "http" || scheme == "https", url.host()?.isEmpty == false else {
      throw MediaCacheError(
        .badURL, "\(url.withoutUserInfo.absoluteString) is not an http or https URL.",
        remedy: "Give the URL in full, as https://host/path.")
    }
  }

  /// The key under which a resource is stored.
  public func key(for resource: Resource) -> CacheKey {
    resource.key ?? configuration.cacheKey(resource.url.withoutUserInfo)
  }

  // MARK: Prefetching

  /// Brings a range of the resource, or all of it, into the cache; what is stored is not asked for
  /// again. Gives way to readers. Cancelling the task stops it and keeps what has come.
  ///
  /// - Parameter progress: called as bytes are stored, at most ten times a second, and at the end.
  ///   On no particular thread.
  /// - Throws: `MediaCacheError`, `.storage` where the bytes cannot be stored; `CancellationError`.
  @discardableResult
  public func prefetch(
    _ resource: Resource, range: ByteRange? = nil,
    progress: (@Sendable (PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation {
    var attempts = 0
    while true {
      let reader = try await open(
        resource, on: FreshnessRequirements(), fill: .onDemand, isBackground: true)
      do {
        return try await withTaskCancellationHandler {
          try await Prefetch(reader: reader, range: range ?? 0..<Int64.max, report: progress).run()
        } onCancel: {
          reader.cancel()
        }
      } catch let error as MediaCacheError
        where error == StorageProblem.otherVersion.error && attempts < Self.reopenings
      {
        // Another process stored its answer while this one had another, and nothing tells whether
        // they are the same. Opened again, the resource is what is stored, or takes its place.
        attempts += 1
      }
    }
  }

  private static let reopenings = 3

  public struct PrefetchProgress: Sendable, Hashable {
    /// Bytes of the range that are stored.
    public var storedBytes: Int64
    /// The range's size; nil while the length of the resource is unknown.
    public var totalBytes: Int64?
    /// Bytes received from the origin since the prefetch began.
    public var bytesFromOrigin: Int64
  }

  // MARK: Looking into it

  /// The ordinary media file of a complete entry, which any program can open; nil while bytes are
  /// missing. The file is the cache's: open it, copy it, do not change it.
  public func completeFile(for key: CacheKey) async throws -> URL? {
    guard let summary = try await entry(for: key), summary.isComplete else { return nil }
    return summary.file
  }

  /// Every entry stored, the most recently used first. Foreign and broken files are passed over,
  /// with a warning event.
  ///
  /// - Throws: `MediaCacheError`, `.storage` where the directory cannot be read.
  public func entries() async throws -> [EntrySummary] {
    try await listing().entries
  }

  /// `entries` and `usage`, for which each entry is looked at once.
  package func listing() async throws -> (entries: [EntrySummary], usage: Usage) {
    for entry in await context.table.settledEntries() { await entry.recordNow() }
    let (entries, all) = try await reportingStorage {
      try await CacheInspector(context: context).entries()
    }
    let usage = Usage(
      allocatedBytes: all.allocated, limit: configuration.limit, entries: all.entries)
    return (entries, usage)
  }

  /// The entry stored under a key, or nil.
  public func entry(for key: CacheKey) async throws -> EntrySummary? {
    await context.table.settledEntry(for: key)?.recordNow()
    return try await inspector { $0.entry(for: key) }
  }

  /// What the directory takes on disk. Looks at every entry.
  ///
  /// - Throws: `MediaCacheError`, `.storage` where the directory cannot be read.
  public func usage() async throws -> Usage {
    let usage = try await reportingStorage { try await CacheInspector(context: context).usage() }
    return Usage(
      allocatedBytes: usage.allocated, limit: configuration.limit, entries: usage.entries)
  }

  public struct Usage: Sendable, Hashable, Codable {
    /// Allocated blocks of all entries, in bytes.
    public var allocatedBytes: Int64
    public var limit: Int64?
    public var entries: Int
  }

  /// Checks every entry against its files, or one: what a record claims and the file does not hold
  /// is dropped from the record, so that it is fetched again; what no record claims is removed.
  /// Entries that are in use are passed over.
  ///
  /// - Parameter progress: called for each entry that was checked, where all are, on several threads
  ///   at once.
  /// - Throws: `MediaCacheError`, `.storage` where the directory cannot be read; `CancellationError`.
  public func verify(
    _ key: CacheKey? = nil, progress: (@Sendable (EntryProgress) -> Void)? = nil
  ) async throws -> [VerifyResult] {
    if let key { return try await inspector { try $0.verify(key).map { [$0] } ?? [] } }
    return try await reportingStorage {
      try await CacheInspector(context: context).verify(progress: EntryProgress.sweep(progress))
    }
  }

  /// How far work on all entries of a cache is.
  public struct EntryProgress: Sendable, Hashable {
    /// Entries that are done with.
    public var done: Int
    /// Entries that were there when the work began.
    public var total: Int

    static func sweep(_ report: (@Sendable (EntryProgress) -> Void)?) -> Sweep.Progress? {
      guard let report else { return nil }
      return { report(EntryProgress(done: $0, total: $1)) }
    }
  }

  public struct VerifyResult: Sendable, Hashable {
    /// Nil where no record says.
    public var key: CacheKey?
    public var directory: URL
    /// What was wrong, a sentence each; empty where all is well.
    public var problems: [String]
    /// Bytes that were dropped from the record.
    public var droppedBytes: Int64
  }

  /// What the origin said of the version that is stored; an empty one where nothing is.
  func storedValidator(for key: CacheKey) async throws -> Validator {
    try await inspector { $0.validator(for: key) } ?? Validator()
  }

  /// Drops ranges of an entry, so that they are fetched again.
  func discard(_ ranges: RangeSet<Int64>, of key: CacheKey) async throws {
    try await inspector { try $0.discard(ranges, of: key) }
  }

  private func inspector<Result: Sendable>(
    _ work: @Sendable @escaping (CacheInspector) throws -> Result
  ) async throws -> Result {
    let inspector = CacheInspector(context: context)
    return try await reportingStorage {
      try await IOThreads.background.run { try work(inspector) }
    }
  }

  private func reportingStorage<Result: Sendable>(
    _ work: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await work()
    } catch let error as DiskError {
      throw MediaCacheError(
        .storage, "The cache directory cannot be read: \(error).",
        remedy: "Check the disk and its permissions, then try again.")
    }
  }

  // MARK: Removing

  /// Removes an entry, and those of other representations of its resource. Readers that have it open
  /// in this process read on from what they hold.
  ///
  /// - Returns: the bytes of disk that were freed; nil where there was no such entry.
  /// - Throws: `MediaCacheError`, `.inUse` where another process is writing it, `.storage`.
  @discardableResult
  public func remove(_ key: CacheKey) async throws -> Int64? {
    try await Removal(context: context).removeAllRepresentations(key)
  }

  /// Removes every entry that no other process is writing.
  ///
  /// - Parameter progress: called for each entry that is done with, on several threads at once.
  /// - Returns: the bytes of disk that were freed.
  /// - Throws: `MediaCacheError`, `.storage`; `CancellationError`, with a part of the entries gone.
  @discardableResult
  public func removeAll(
    progress: (@Sendable (EntryProgress) -> Void)? = nil
  ) async throws -> Int64 {
    try await Removal(context: context).removeAll(progress: EntryProgress.sweep(progress))
  }

  // MARK: Following it

  /// What happens in this cache, from the call on. Slow listeners lose the oldest events.
  ///
  /// - Parameter includingTraffic: also `received`, `committed` and `servedFromDisk`, which come
  ///   with every chunk of bytes: to be told of them costs a busy cache time.
  public func events(includingTraffic: Bool = true) -> AsyncStream<CacheEvent> {
    context.events.stream(includingTraffic: includingTraffic)
  }

  /// Ends every reader and fetch, and writes down what is known. The cache cannot be used after it.
  public func close() async {
    for entry in context.table.shutDown() { entry.shutDown() }
    await context.table.waitUntilEmpty()
    await context.evictor.close()
    await context.budget.close()
    context.events.finish()
  }
}
