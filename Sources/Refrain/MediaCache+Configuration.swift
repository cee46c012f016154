// SPDX-License-Identifier: MIT
public import Foundation

extension MediaCache {
  /// How a cache behaves. A value: changing it after the cache was created has no effect; the
  /// cache's own `limit`, `isOffline`, `network` and `originRate` can be changed at any time.
  public struct Configuration: Sendable {
    /// The most disk space that the cache may use, in bytes of allocated blocks; nil for no limit.
    public var limit: Int64? = 10 << 30

    /// The default fill policy for readers.
    public var fill: FillPolicy = .onDemand

    /// The most bytes received ahead of a reader. The window starts at four times `firstRequest`
    /// and grows to two thirds of this value as a reader reads in sequence.
    public var maximumReadAhead: Int64 = 8 << 20

    /// The size of the first request after a seek, in bytes: small, since most seeks are probes.
    public var firstRequest: Int64 = 64 << 10

    /// How long a reader waits for a running fetch to reach its offset before a separate fetch
    /// starts there. Nil: as long as the origin takes to respond, at most half a second.
    public var joinPatience: Duration?

    /// Whether stored bytes are never revalidated: a URL always names the same bytes. Only what was
    /// found to have changed is revalidated all the same.
    public var trustStored = false

    /// Whether the cache makes no requests at all. Stored bytes play, whatever their age.
    public var offline = false

    /// Whether to follow RFC 9111 as a shared cache: responses private to one person are not
    /// stored, and those that a private cache has stored in the same directory are not used.
    public var isShared = false

    /// Returns the key for a resource without one, from its URL without user and password. Use
    /// `CacheKeyRule` to ignore query parameters that change, such as tokens.
    ///
    /// The default is `CacheKey.init(url:)` without the signature of a signed URL, which is the
    /// parameters of Amazon, CloudFront, Google, Azure and Akamai. All signatures of a URL share one
    /// entry: it plays under each of them without a request while it is fresh. A shared cache
    /// (`isShared`) ignores no parameter by itself: what is stored would outlive the rights of its
    /// signature.
    public var cacheKey: @Sendable (URL) -> CacheKey {
      get { ownKey ?? { CacheKey(withoutSignature: $0) } }
      set { ownKey = newValue }
    }

    /// What `cacheKey` was set to: it decides alone.
    private var ownKey: (@Sendable (URL) -> CacheKey)?

    /// Whose cache it is, such as an account of the app: resources without a key of their own are
    /// stored for each partition separately. Nil: one person uses the directory.
    public var partition: String?

    /// Returns the key of a URL without user and password.
    func key(for url: URL) -> CacheKey {
      let key = isShared && ownKey == nil ? CacheKey(url: url) : cacheKey(url)
      return partition.map(key.in(partition:)) ?? key
    }

    /// Called once when the origin responds 401, 403 or 410: returns the resource with a new URL or
    /// new headers, which is requested again under the same key, or nil to give up. A user and
    /// password in the new URL are sent as Basic credentials (RFC 7617), or on Linux as Digest
    /// (RFC 7616) if the origin asks for it.
    ///
    /// A thrown error fails the request as a refusal by the origin, which players do not repeat. An
    /// error of the network (`URLError`, `TransportError`) fails it as `.unreachable`, as when the
    /// origin itself cannot be reached; a `MediaCacheError` is passed on.
    ///
    /// Called once for a whole group (`ResourcePolicy`): changed headers, and changed values of query
    /// parameters, also apply to requests of the same group to the same origin (scheme, host and
    /// port) that have the old ones. A request that is refused all the same is authorized by itself.
    public var authorize: (@Sendable (Resource, _ status: Int) async throws -> Resource?)?

    /// The policy of resources that set none, part by part.
    public var policy = ResourcePolicy()

    public var retry = RetryPolicy()

    /// The longest silence before the first byte of a response, connecting included: of its head,
    /// and of its body. Media may have to be brought from a tape or a cold archive first.
    ///
    /// Stored bytes do not wait for so long: if the origin does not confirm them within five
    /// seconds, they play, unless it has forbidden that (`must-revalidate`). Connecting takes at
    /// most ten seconds over `CurlTransport`.
    public var responseTimeout: Duration = .seconds(60)

    /// The longest silence in the middle of a response.
    public var silenceTimeout: Duration = .seconds(30)

    /// The most bytes per second that are received from all origins together; nil for no limit.
    /// Fetches that a player waits for come before those in the background. More than this may
    /// arrive in a moment: what lies in the buffers of sockets.
    public var originRate: Int64?

    /// Which networks may be used for what, and whether requests wait for a network.
    public var network = NetworkPolicy()

    /// How long a fetch without readers may stall.
    package var abandonedSilence: Duration = .seconds(2)

    package var clock: @Sendable () -> Moment = { .now }

    /// The transport that performs the requests. Nil: the platform's default, `CurlTransport` on
    /// Linux and `URLSessionTransport` on Apple platforms.
    public var transport: (any Transport)?

    public init() {}
  }
}

extension MediaCache.Configuration {
  func origin(_ transport: any Transport) -> Origin {
    Origin(
      transport, isOffline: offline, network: network, retry: retry,
      responseTimeout: responseTimeout, silenceTimeout: silenceTimeout,
      bytesPerSecond: originRate, authorize: authorize,
      isShared: isShared, clock: clock)
  }
}

/// The settings that can be changed while a cache is in use.
extension MediaCache {
  /// Whether the cache makes no requests at all (`Configuration.offline`).
  ///
  /// Going offline ends running requests; their received bytes stay. Readers that wait for missing
  /// bytes fail with `MediaCacheError.Code.offline`.
  public var isOffline: Bool {
    get { origin.isOffline }
    set {
      origin.isOffline = newValue
      for entry in table.openEntries { entry.followOffline() }
    }
  }

  /// Which networks may be used for what (`Configuration.network`). Running requests are finished.
  public var network: NetworkPolicy {
    get { origin.withMemory { $0.network } }
    set { origin.withMemory { $0.network = newValue } }
  }

  /// The most bytes per second from all origins together (`Configuration.originRate`). A value below
  /// 1 counts as 1. Applies at once, also to requests that run: those that pause for the old rate
  /// notice within a quarter of a second.
  public var originRate: Int64? {
    get { origin.withMemory { $0.pace.bytesPerSecond } }
    set { origin.withMemory { $0.pace.bytesPerSecond = newValue } }
  }

  /// The most disk space that the cache may use (`Configuration.limit`).
  public var limit: Int64? { budget.limit }

  /// Changes the limit, and evicts entries that are not in use, the least recently used first,
  /// until the usage is below it. Other caches of the directory keep their own limits.
  ///
  /// - Returns: whether the usage is below the limit. If not, entries in use or pinned exceed it;
  ///   nothing more is stored before they are closed or unpinned, and evicted.
  @discardableResult
  public func setLimit(_ limit: Int64?) async -> Bool {
    budget.limit = limit
    let evictor = evictor
    // To its end, even if the caller's task is cancelled.
    return await Task(executorPreference: IOThreads.background) {
      await evictor.makeRoom(for: 0)
    }.value
  }
}

extension MediaCache {
  /// Makes a cache directory, and returns warnings of attributes that could not be set. Blocks.
  static func create(_ directory: String, on disk: any Disk) throws(DiskError) -> [CacheEvent] {
    let path = DiskBudget.entriesPath(in: directory)
    try disk.makeDirectories(path)
    do {
      // Only the directory that is entirely ours: the cache may lie in a folder with other files.
      // Set on every opening, because a process may end between the two steps.
      try disk.setStoredMediaAttributes(path)
      return []
    } catch {
      return [
        .warning(
          "\(path) could not be excluded from backups and kept readable on a locked device: "
            + error.localizedDescription)
      ]
    }
  }

  /// The default directory of a cache. Reading it creates nothing. May be called on any thread.
  ///
  /// - iOS, tvOS, visionOS: `Refrain` in the Caches folder of the app's container. The system may
  ///   empty it while the app does not run, when the device is short of room.
  /// - macOS: `Refrain` in a folder named by the app's bundle identifier in the user's Caches
  ///   folder, which is in the app's container if the app is sandboxed; without a bundle identifier
  ///   `~/Library/Caches/Refrain`.
  /// - Linux: `$XDG_CACHE_HOME/refrain`, else `~/.cache/refrain` (XDG Base Directory
  ///   Specification), for all programs of the user.
  public static var defaultDirectory: URL {
    #if os(macOS) || targetEnvironment(macCatalyst)
      directoryOnMac(.cachesDirectory, bundleIdentifier: Bundle.main.bundleIdentifier)
    #elseif canImport(Darwin)
      // In the app's container, which holds no other app's caches.
      URL.cachesDirectory.appending(component: "Refrain", directoryHint: .isDirectory)
    #else
      directoryOnLinux(
        ProcessInfo.processInfo.environment,
        home: FileManager.default.homeDirectoryForCurrentUser)
    #endif
  }

  /// Returns a folder inside the app's own, named by its bundle identifier as is customary (Apple's
  /// File System Programming Guide): outside of a sandbox all apps share `~/Library/Caches`, and
  /// one must neither evict nor play the entries of another. Inside a sandbox, too, so that it does
  /// not change when an app is sandboxed. A program without a bundle has no folder of its own.
  static func directoryOnMac(_ caches: URL, bundleIdentifier: String?) -> URL {
    var folder = caches
    // Letters, digits, hyphens and periods (CFBundleIdentifier): a path that cannot lead elsewhere.
    if let bundleIdentifier, !bundleIdentifier.isEmpty, !bundleIdentifier.hasPrefix("."),
      !bundleIdentifier.contains("/")
    {
      folder.append(component: bundleIdentifier, directoryHint: .isDirectory)
    }
    return folder.appending(component: "Refrain", directoryHint: .isDirectory)
  }

  static func directoryOnLinux(_ environment: [String: String], home: URL) -> URL {
    // The specification requires ignoring relative paths.
    if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") {
      return URL(filePath: base, directoryHint: .isDirectory)
        .appending(path: "refrain", directoryHint: .isDirectory)
    }
    let named = environment["HOME"] ?? ""
    let folder = named.isEmpty ? home : URL(filePath: named, directoryHint: .isDirectory)
    return folder.appending(path: ".cache/refrain", directoryHint: .isDirectory)
  }
}
