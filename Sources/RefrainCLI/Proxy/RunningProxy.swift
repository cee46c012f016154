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
    let serving = RunningProxy(proxy: proxy, run: Task { try await proxy.run() })
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

  /// Creates a proxy; an invalid configuration is wrong usage.
  static func configured(
    _ configuration: CacheProxy.Configuration, cache: MediaCache
  ) throws -> CacheProxy {
    do {
      return try CacheProxy(cache: cache, configuration: configuration)
    } catch {
      Console.shared.note("refrain: \(printable("\(error)"))")
      throw ExitCode.validationFailure
    }
  }
}
