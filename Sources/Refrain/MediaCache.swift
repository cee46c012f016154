// SPDX-License-Identifier: MIT
public import Foundation

/// A cache directory and all activity in it: the entry point of Refrain.
public final class MediaCache: Sendable {
  let events: EventStreams
  let table: EntryTable
  let budget: DiskBudget
  let evictor: Evictor
  let starter: FetchStarter
  let configuration: Configuration
  package let privateFiles: PrivateFiles

  /// Opens a directory for the cache alone, creating it if it is missing. Reads no entry. Several
  /// caches, in several processes, may use one directory.
  ///
  /// On Apple platforms stored bytes are excluded from backups and readable while the device is
  /// locked. If the system refuses that, the first consumer of `events` receives a warning.
  ///
  /// In the container of an app group on iOS, tvOS and visionOS no file is locked, because the
  /// system ends an app that is suspended with a lock (`0xdead10cc`). Several processes at once
  /// never read wrong bytes there, but undo each other's storing, and each has the whole limit.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be used.
  public convenience init(
    directory: URL = MediaCache.defaultDirectory, configuration: Configuration = Configuration()
  ) throws {
    try self.init(directory: directory, configuration: configuration, disk: nil)
  }

  init(
    directory: URL, configuration: Configuration, disk given: (any Disk)?,
    bootIdentity: String = BootIdentity.current, table: EntryTable = EntryTable()
  ) throws {
    // Without a slash at its end.
    let folder = directory.standardizedFileURL.path
    let disk = given ?? SystemDisk(for: folder)
    do throws(DiskError) {
      events = EventStreams(unheard: try Self.create(folder, on: disk))
    } catch {
      throw MediaCacheError(
        .storage, "The cache directory \(folder) cannot be used: \(error.reason).",
        remedy: "Name a folder that can be written to; no part of its path may be a file.")
    }
    self.configuration = configuration
    budget = DiskBudget(
      directory: folder, limit: configuration.limit, disk: disk, bootIdentity: bootIdentity,
      clock: configuration.clock
    ) { [events] in events.send($0) }
    privateFiles = PrivateFiles("\(budget.directory)/private", disk: disk)
    self.table = table
    let origin = configuration.origin(configuration.transport ?? Self.platformTransport())
    evictor = Evictor(budget: budget, table: table) { [events] event in
      if case .evicted(_, let bytes) = event { origin.counters.noteEvicted(bytes) }
      events.send(event)
    }
    starter = FetchStarter(
      origin: origin,
      plan: FetchPlan(
        patience: configuration.joinPatience?.seconds,
        firstRequest: max(configuration.firstRequest, 1),
        maximumReadAhead: max(configuration.maximumReadAhead, configuration.firstRequest)),
      trustsStored: configuration.trustStored, abandonedSilence: configuration.abandonedSilence
    ) { generation, id, range in
      await Fetch(id: id, generation: generation).run(range)
    }
  }

  var origin: Origin { starter.origin }

  var stored: StoredEntries { StoredEntries(budget: budget, table: table, events: events) }

  /// For requests that bypass the cache.
  package var relayingTransport: any RelayingTransport {
    origin.transport as? any RelayingTransport ?? Self.platformTransport()
  }

  package static func platformTransport() -> any RelayingTransport {
    #if os(Linux)
      return CurlTransport()
    #else
      return URLSessionTransport()
    #endif
  }

  /// Starts the threads that otherwise start with the first request. For programs that load
  /// libraries meanwhile: during dlopen(3), glibc holds a lock that every new thread needs.
  package func startThreads() {
    _ = (IOThreads.shared, IOThreads.background)
    #if os(Linux)
      (origin.transport as? CurlTransport)?.startThread()
    #endif
  }

  // MARK: Reading and prefetching

  /// Returns a reader of the resource, in the representation that its headers select (RFC 9111
  /// §4.1).
  ///
  /// Usually makes no request; waits for the response where one with other headers is under way.
  /// Requests have the newest URL and headers given for the key, but for a reader without
  /// credentials, which changes neither where an earlier one has some.
  ///
  /// The key alone (`key(for:)`) decides what is used, whatever the credentials. An app with
  /// several accounts sets `Configuration.partition`. In a cache for several people
  /// (`Configuration.isShared`), each set of credentials has entries of its own.
  ///
  /// `fill` says what is fetched beyond the bytes read; nil: `Configuration.fill`.
  ///
  /// - Throws: `MediaCacheError`, `.badURL` if it is not http or https; `CancellationError`.
  public func open(_ resource: Resource, fill: FillPolicy? = nil) async throws -> MediaReader {
    try await open(resource, on: ReadTerms(), fill: fill)
  }

  /// Returns the resource's own key, or that of its URL (`Configuration.cacheKey`) in the cache's
  /// `Configuration.partition`.
  public func key(for resource: Resource) -> CacheKey {
    if let key = resource.key { return key }
    let key = configuration.cacheKey(resource.url.withoutUserInfo)
    return configuration.partition.map(key.in(partition:)) ?? key
  }

  /// Fetches what is missing of the resource, or of a range, into the cache. Gives way to readers.
  /// Cancelling the task stops it and keeps the received bytes. `progress` is called at most ten
  /// times a second, and at the end, on any thread.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the bytes cannot be stored; `CancellationError`.
  @discardableResult
  public func prefetch(
    _ resource: Resource, range: ByteRange? = nil,
    progress: (@Sendable (PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation {
    try await prefetch(resource, on: ReadTerms(), range, progress)
  }

  public struct PrefetchProgress: Sendable, Hashable {
    /// The stored bytes of the range.
    public var storedBytes: Int64
    /// The size of the range; nil while the length of the resource is unknown.
    public var totalBytes: Int64?
    /// The bytes received from the origin since the prefetch began.
    public var bytesFromOrigin: Int64
  }

  // MARK: Looking into it

  /// Returns the file of a complete entry, which any program may open, but not change; else nil.
  public func completeFile(for key: CacheKey) async throws -> URL? {
    guard let summary = try await entry(for: key), summary.isComplete else { return nil }
    return summary.file
  }

  /// Returns every stored entry, the most recently used first. Broken ones cause a warning event.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read.
  public func entries() async throws -> [EntrySummary] { try await listing().entries }

  /// Returns `entries` and `usage`, with one look at each entry.
  package func listing() async throws -> (entries: [EntrySummary], usage: Usage) {
    try await stored.listing()
  }

  /// Returns the entry stored under a key, or nil.
  public func entry(for key: CacheKey) async throws -> EntrySummary? {
    await look(at: [key]) { $0.entry(for: key) }
  }

  /// Returns the disk usage of the directory. Reads the record of every entry, as `entries` does.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read.
  public func usage() async throws -> Usage { try await listing().usage }

  public struct Usage: Sendable, Hashable, Codable {
    /// The allocated blocks of all entries, in bytes.
    public var allocatedBytes: Int64
    /// The part of `allocatedBytes` that belongs to pinned entries and is never evicted.
    public var pinnedBytes: Int64
    public var limit: Int64?
    public var entries: Int
  }

  /// Checks every entry, or one, against its files. Bytes that the files do not hold are dropped
  /// from the record; files that no record claims are removed. Entries in use are skipped.
  /// `progress` is called for each checked entry, on several threads at once.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read; `CancellationError`.
  public func verify(
    _ key: CacheKey? = nil, progress: (@Sendable (EntryProgress) -> Void)? = nil
  ) async throws -> [VerifyResult] {
    try await stored.verify(key, progress: progress)
  }

  /// The progress of work on all entries of a cache.
  public struct EntryProgress: Sendable, Hashable {
    /// The number of finished entries.
    public var done: Int
    /// The number of entries when the work began.
    public var total: Int
  }

  public typealias VerifyResult = EntryVerification

  // MARK: Removing

  /// Removes an entry, and other representations of its resource. Readers in this process continue.
  ///
  /// - Returns: the disk space freed, in bytes; nil if there was no such entry.
  /// - Throws: `MediaCacheError`, `.inUse` if another process is writing it, `.storage`;
  ///   `CancellationError`, with nothing removed.
  @discardableResult
  public func remove(_ key: CacheKey) async throws -> Int64? {
    let outcome = try await purge(PurgeSelection(keys: [key]))
    if let failure = outcome.failures.first { throw failure }
    return outcome.freedBytes > 0 ? outcome.freedBytes : nil
  }

  /// Removes every entry that no other process is writing, the headers and cookies that proxies
  /// have stored, and the positions and the queue that players have stored. A running proxy stores
  /// none of it again; a running player does.
  ///
  /// - Parameter progress: called for each finished entry, on several threads at once.
  /// - Returns: the disk space freed, in bytes.
  /// - Throws: `MediaCacheError`, `.storage`; `CancellationError`, with some entries removed.
  @discardableResult
  public func removeAll(
    progress: (@Sendable (EntryProgress) -> Void)? = nil
  ) async throws -> Int64 {
    let time = now.wall
    origin.withMemory { $0.companions = [:] }
    return try await withTaskExecutorPreference(IOThreads.background) {
      // First: a removal that is cancelled, or whose process ends, leaves no credentials behind.
      let removal = Result { try privateFiles.removeAll { now.uptime } }
      let freed: Result<Int64, any Error>
      do { freed = .success(try await stored.removeAll(at: time, progress: progress)) } catch {
        freed = .failure(error)
      }
      // There may be room for the record of the removal now. Credentials that are left, or may be
      // stored again, matter more than why entries are left.
      if case .failure = removal { try privateFiles.removeAll { now.uptime } }
      return try freed.get()
    }
  }

  /// Returns the events of this cache from the call on. Slow consumers lose the oldest events.
  ///
  /// - Parameter includingTraffic: whether to include `received`, `committed` and `servedFromDisk`,
  ///   which every chunk of bytes causes.
  public func events(includingTraffic: Bool = true) -> AsyncStream<CacheEvent> {
    events.stream(includingTraffic: includingTraffic)
  }

  /// Ends every reader and fetch, and writes pending records. The cache cannot be used afterwards.
  public func close() async {
    await table.shutDown()
    await evictor.close()
    await budget.close()
    events.finish()
  }
}
