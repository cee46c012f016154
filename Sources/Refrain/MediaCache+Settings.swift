// SPDX-License-Identifier: MIT

/// The settings that can be changed while a cache is in use.
extension MediaCache {
  /// Whether the cache makes no requests at all. Stored bytes play, whatever their age.
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

  /// Which networks may be used for what, and whether requests wait for a network. Applies to
  /// requests from now on; a request that runs is finished.
  public var network: NetworkPolicy {
    get { origin.network }
    set { origin.network = newValue }
  }

  /// The most bytes per second that are received from all origins together; nil for no limit. A
  /// value below 1 counts as 1.
  ///
  /// Applies at once, also to requests that run: those that pause for the old rate notice within a
  /// quarter of a second.
  public var originRate: Int64? {
    get { origin.pace.bytesPerSecond }
    set { origin.pace.bytesPerSecond = newValue }
  }

  /// The most disk space that the cache may use, in bytes of allocated blocks; nil for no limit.
  public var limit: Int64? { budget.limit }

  /// Changes the limit, and evicts entries that are not in use, the least recently used first,
  /// until the usage is below it. Other caches of the directory keep their own limits.
  ///
  /// - Returns: whether the usage is below the limit. If not, entries in use or pinned exceed it;
  ///   nothing more is stored before they are closed or unpinned, and evicted.
  @discardableResult
  public func setLimit(_ limit: Int64?) async -> Bool {
    budget.setLimit(limit)
    let evictor = evictor
    return await Task(executorPreference: IOThreads.background) {
      await evictor.makeRoom(for: 0)
    }.value
  }
}
