// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy

/// A proxy that listens, in a task of its own.
struct RunningProxy: Sendable {
  let proxy: CacheProxy
  private let run: Task<Void, any Error>

  /// Returns once the proxy listens.
  static func start(_ proxy: CacheProxy) async throws -> RunningProxy {
    let serving = RunningProxy(proxy: proxy, run: Task { try await proxy.run() })
    do {
      try await proxy.waitUntilListening()
    } catch {
      await serving.stop()
      throw error
    }
    return serving
  }

  /// Waits until the proxy ends; when the current task is cancelled, ends it. Running answers then
  /// have some seconds left.
  func untilEnd() async throws {
    let result = await withTaskCancellationHandler {
      await run.result
    } onCancel: {
      run.cancel()
    }
    try result.get()
  }

  /// Ends the proxy in the same way, and waits for it.
  func stop() async {
    run.cancel()
    _ = await run.result
  }

  /// Tells when the proxy ends though nobody stopped it.
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
  /// What a player is to be given in place of a URL. A user and a password in it stay in it: they
  /// are for the player to send (RFC 7617), and the proxy passes them on.
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

  /// A proxy; what it cannot be told is wrong usage.
  static func configured(
    _ configuration: Configuration, cache: MediaCache
  ) throws -> CacheProxy {
    do {
      return try CacheProxy(cache: cache, configuration: configuration)
    } catch let error as MediaCacheError where error.code == .usage {
      Console.shared.note("refrain: \(printable("\(error)"))")
      throw ExitCode.validationFailure
    }
  }
}
