// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy

/// A listening proxy, in its own task.
struct RunningProxy: Sendable {
  let proxy: CacheProxy
  private let run: Task<Void, any Error>

  /// Returns once the proxy listens.
  static func start(_ proxy: CacheProxy) async throws -> RunningProxy {
    try await start(proxy) { try await proxy.run() }
  }

  /// As `start(_:)`, for a proxy that something else runs.
  static func start(
    _ proxy: CacheProxy, running run: @escaping @Sendable () async throws -> Void
  ) async throws -> RunningProxy {
    let serving = RunningProxy(proxy: proxy, run: Task { try await run() })
    do {
      try await proxy.waitUntilListening()
    } catch {
      await serving.stop()
      throw error
    }
    return serving
  }

  /// Waits until the proxy ends; ends it if the current task is cancelled. Running responses then
  /// have a few seconds left.
  ///
  /// - Parameter time: how long it serves on before, while it reports that it is about to end.
  func untilEnd(draining time: Duration = .zero) async throws {
    let result = await withTaskCancellationHandler {
      await run.result
    } onCancel: {
      guard time > .zero else { return run.cancel() }
      proxy.beginDraining()
      Task {
        // A task of its own, which nothing cancels.
        try? await Task.sleep(for: time)
        run.cancel()
      }
    }
    try result.get()
  }

  /// Ends the proxy in the same way, and waits for its end.
  func stop() async {
    run.cancel()
    _ = await run.result
  }

  /// Calls `tell` if the proxy ends without having been stopped.
  func onFailure(_ tell: @escaping @Sendable (any Error) -> Void) {
    Task {
      do {
        try await run.value
      } catch is CancellationError {
        // It was stopped.
      } catch {
        tell(error)
      }
    }
  }
}

extension CacheProxy {
  /// Returns the URL to give to a player in place of `url`. A user and a password stay in it: the
  /// player sends them (RFC 7617), and the proxy passes them on.
  func urlForPlayer(_ url: URL) throws -> URL {
    let proxied = try self.url(for: url)
    guard let original = URLComponents(url: url, resolvingAgainstBaseURL: false),
      original.percentEncodedUser != nil,
      var components = URLComponents(url: proxied, resolvingAgainstBaseURL: false)
    else { return proxied }
    components.percentEncodedUser = original.percentEncodedUser
    components.percentEncodedPassword = original.percentEncodedPassword
    return components.url ?? proxied
  }
}

/// Creates something; an invalid configuration is wrong usage.
func asUsage<Result>(_ create: () throws -> Result) throws -> Result {
  do {
    return try create()
  } catch let error as CacheProxyError {
    Console.shared.note("refrain: \(printable("\(error)"))")
    throw ExitCode.validationFailure
  }
}

#if os(Linux)
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
