// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

@testable import Refrain

/// A transport that responds as a script says, and records its requests.
final class ScriptedTransport: Transport {
  private let asked = Mutex<[OriginRequest]>([])
  private let script: @Sendable (OriginRequest) async throws -> OriginResponse

  init(_ script: @Sendable @escaping (OriginRequest) async throws -> OriginResponse) {
    self.script = script
  }

  /// The requests, in order.
  var requests: [OriginRequest] { asked.withLock { $0 } }

  func requests(_ path: String) -> [OriginRequest] {
    requests.filter { $0.url.path == path }
  }

  func send(_ request: OriginRequest) async throws -> OriginResponse {
    asked.withLock { $0.append(request) }
    return try await script(request)
  }
}

/// A gate that is closed until it is opened. A task that waits for it can be cancelled.
final class Gate: Sendable {
  private let (stream, continuation) = AsyncStream.makeStream(of: Void.self)

  func open() { continuation.finish() }

  func wait() async throws {
    for await _ in stream {}
    try Task.checkCancellation()
  }
}

/// Runs a test over a cache in a directory of its own, and closes it in any case.
func withTransport(
  _ transport: ScriptedTransport, _ change: (inout MediaCache.Configuration) -> Void = { _ in },
  _ body: (MediaCache) async throws -> Void
) async throws {
  let directory = TestCache.temporaryDirectory()
  defer { try? FileManager.default.removeItem(at: directory) }
  var configuration = TestCache.configuration(change)
  configuration.transport = transport
  let cache = try MediaCache(directory: directory, configuration: configuration)
  do { try await body(cache) } catch {
    await cache.close()
    throw error
  }
  await cache.close()
}
