// SPDX-License-Identifier: MIT
public import Foundation

extension MediaCache {
  /// How a cache behaves. Later changes have no effect, except to the cache's own `limit`,
  /// `isOffline`, `network` and `originRate`.
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

    /// How long a reader waits for a running fetch to reach its offset before another one starts
    /// there. Nil: as long as the origin takes to respond, at most half a second.
    public var joinPatience: Duration?

    /// Whether stored bytes are never revalidated, unless they were found to have changed.
    public var trustStored = false

    /// Whether the cache makes no requests at all. Stored bytes play, whatever their age.
    public var offline = false

    /// Whether to follow RFC 9111 as a shared cache: what is private to one person is not stored,
    /// and not used if a private cache has stored it in the same directory.
    public var isShared = false

    /// Returns the key for a resource without one, from its URL without user and password. Use
    /// `CacheKeyRule` to ignore query parameters that change, such as tokens.
    ///
    /// The default is `CacheKey.init(url:)` without the signature of a signed URL (Amazon,
    /// CloudFront, Google, Azure, Akamai), so that all signatures of a URL share one entry; in a
    /// shared cache (`isShared`) with it: what is stored would outlive the rights of the signature.
    public var cacheKey: @Sendable (URL) -> CacheKey {
      get { ownKey ?? (isShared ? CacheKey.init(url:) : CacheKey.init(withoutSignature:)) }
      set { ownKey = newValue }
    }

    private var ownKey: (@Sendable (URL) -> CacheKey)?

    /// Whose cache it is, such as an account of the app. Only resources with a key of their own are
    /// common to all partitions. Nil: one person uses the directory.
    public var partition: String?

    /// Called once when the origin responds 401, 403 or 410: returns the resource with a new URL or
    /// new headers, which is requested under the same key, or nil to give up. A user and password
    /// in the new URL are sent as Basic credentials (RFC 7617), or on Linux as Digest (RFC 7616).
    ///
    /// A thrown `MediaCacheError` is passed on, an error of the network (`URLError`,
    /// `TransportError`) counts as `.unreachable`, and any other as a refusal by the origin.
    ///
    /// Called once for a whole group (`ResourcePolicy`): changed headers and values of query
    /// parameters also replace the old ones in the group's other requests to the origin. A request
    /// that is refused all the same is authorized by itself.
    public var authorize: (@Sendable (Resource, _ status: Int) async throws -> Resource?)?

    /// The policy of resources that set none, part by part.
    public var policy = ResourcePolicy()

    public var retry = RetryPolicy()

    /// The longest silence before the head of a response, connecting included, and before its body.
    /// Connecting takes at most ten seconds over `CurlTransport`. Stored bytes wait five seconds to
    /// be confirmed, then play, unless the origin has forbidden that (`must-revalidate`).
    public var responseTimeout: Duration = .seconds(60)

    /// The longest silence in the middle of a response.
    public var silenceTimeout: Duration = .seconds(30)

    /// The most bytes per second that are received from all origins together, except for what lies
    /// in the buffers of sockets; nil for no limit. Fetches that a player waits for come first.
    public var originRate: Int64?

    /// Which networks may be used for what, and whether requests wait for a network.
    public var network = NetworkPolicy()

    /// The time between two looks at fetches without readers; those without any at both end.
    package var abandonedSilence: Duration = .seconds(2)

    package var clock: @Sendable () -> Moment = { .now }

    /// The transport that performs the requests. Nil: `CurlTransport` on Linux,
    /// `URLSessionTransport` on Apple platforms.
    public var transport: (any Transport)?

    public init() {}
  }
}

extension MediaCache.Configuration {
  func origin(_ transport: any Transport) -> Origin {
    Origin(
      transport, isOffline: offline, network: network, retry: retry,
      responseTimeout: responseTimeout, silenceTimeout: silenceTimeout,
      bytesPerSecond: originRate, authorize: authorize, isShared: isShared, clock: clock)
  }
}

/// The settings that can be changed while a cache is in use.
extension MediaCache {
  /// Whether the cache makes no requests at all (`Configuration.offline`). Going offline ends
  /// running requests; readers that wait fail with `MediaCacheError.Code.offline`.
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

  /// The most bytes per second from all origins together (`Configuration.originRate`), at least 1.
  /// Also applies to running requests, within a quarter of a second.
  public var originRate: Int64? {
    get { origin.withMemory { $0.pace.bytesPerSecond } }
    set { origin.withMemory { $0.pace.bytesPerSecond = newValue } }
  }

  /// The most disk space that the cache may use (`Configuration.limit`).
  public var limit: Int64? { budget.limit }

  /// Changes the limit, and evicts entries that are not in use, the least recently used first,
  /// until the usage is below it. Waits for a measurement, and ten seconds for entries that close.
  ///
  /// - Returns: whether the usage is below the limit. If not, nothing more is stored until enough
  ///   entries are closed or unpinned.
  @discardableResult
  public func setLimit(_ limit: Int64?) async -> Bool {
    budget.limit = limit
    // To its end, even if the caller's task is cancelled.
    return await Task(executorPreference: IOThreads.background) { [evictor] in
      await evictor.makeRoom(for: 0, isUrgent: { false })
    }.value
  }

  // MARK: The directory

  /// Makes a cache directory, and returns warnings of attributes that could not be set. Blocks.
  static func create(_ directory: String, on disk: any Disk) throws(DiskError) -> [CacheEvent] {
    // Only the directory that is entirely ours: the cache may lie in a folder with other files.
    let path = DiskBudget.entriesPath(in: directory)
    try disk.makeDirectories(path)
    do {
      // On every opening: a process may end between the two steps.
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
  /// - iOS, tvOS, visionOS: `Refrain` in the container's Caches folder, which the system may empty
  ///   while the app does not run.
  /// - macOS: `Refrain` in a folder named by the app's bundle identifier, if it has one, in
  ///   `~/Library/Caches`, or in that of the app's container if the app is sandboxed.
  /// - Linux: `$XDG_CACHE_HOME/refrain`, else `~/.cache/refrain`, for all programs of the user.
  public static var defaultDirectory: URL {
    let manager = FileManager.default
    var folder =
      manager.urls(for: .cachesDirectory, in: .userDomainMask).first ?? manager.temporaryDirectory
    #if os(macOS) || targetEnvironment(macCatalyst)
      // All apps share the folder, and one must neither evict nor play the entries of another.
      if let name = Bundle.main.bundleIdentifier, !name.isEmpty {
        folder.append(component: name, directoryHint: .isDirectory)
      }
    #endif
    #if canImport(Darwin)
      folder.append(component: "Refrain", directoryHint: .isDirectory)
    #else
      folder.append(component: "refrain", directoryHint: .isDirectory)
    #endif
    return folder
  }
}
