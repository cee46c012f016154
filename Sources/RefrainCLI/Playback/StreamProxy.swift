// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainProxy

  /// The proxy through which `play` plays streams (HLS, DASH): on this computer, and with a token
  /// that no other program knows. It starts with the first stream.
  actor StreamProxy {
    private let cache: MediaCache
    private var start: Task<RunningProxy, any Error>?

    init(cache: MediaCache) { self.cache = cache }

    /// Returns the proxy's URL for a stream.
    ///
    /// - Throws: `CacheProxyError`, `MediaCacheError`.
    func url(for stream: Resource) async throws -> URL {
      try await running().proxy.url(for: stream)
    }

    private func running() async throws -> RunningProxy {
      var configuration = CacheProxy.Configuration()
      configuration.servesOnePlay = true
      let start =
        start
        ?? Task { [cache, configuration] in
          try await RunningProxy.start(CacheProxy(cache: cache, configuration: configuration))
        }
      self.start = start
      do {
        return try await start.value
      } catch {
        // The next stream tries again.
        if self.start == start { self.start = nil }
        throw error
      }
    }

    /// Ends the proxy, if it was started.
    func stop() async {
      guard let start else { return }
      self.start = nil
      // A proxy that could not start needs no stop.
      try? await start.value.stop()
    }
  }
#endif
