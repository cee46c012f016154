// SPDX-License-Identifier: MIT
import Foundation
@_exported import OriginServer
import Refrain
import RefrainProxy
import RefrainLocks
@_exported import TestSupport

/// A proxy over a new cache and a new origin; all end with the test.
final class TestProxy: Sendable {
  let origin: OriginServer
  let directory: URL
  let cache: MediaCache
  let proxy: CacheProxy
  private let requests = Mutex<[ServedRequest]>([])

  init(
    origin: OriginServer, directory: URL, cacheConfiguration: MediaCache.Configuration,
    _ change: (inout CacheProxy.Configuration) -> Void
  ) throws {
    self.origin = origin
    self.directory = directory
    cache = try MediaCache(directory: directory, configuration: cacheConfiguration)
    let log = Log()
    var configuration = CacheProxy.Configuration()
    configuration.log = { log.append($0) }
    // No test depends on the speed of the machine.
    configuration.endedInputTimeout = .seconds(100)
    change(&configuration)
    proxy = try CacheProxy(cache: cache, configuration: configuration)
    self.log = log
  }

  final class Log: Sendable {
    private let requests = Mutex<[ServedRequest]>([])

    func append(_ request: ServedRequest) { requests.withLock { $0.append(request) } }

    var all: [ServedRequest] { requests.withLock { $0 } }
  }

  let log: Log

  var port: Int { proxy.listeningAddress?.port ?? 0 }

  var host: String { "127.0.0.1:\(port)" }

  /// Returns the proxy's path for a path of the origin.
  func target(_ path: String) throws -> String {
    let url = try proxy.url(for: origin.url(path)).absoluteString
    return String(url.dropFirst("http://\(host)".count))
  }

  func key(_ path: String) -> CacheKey { cache.key(for: Resource(url: origin.url(path))) }

  func get(
    _ path: String, _ headers: [String] = [], method: String = "GET"
  ) async throws -> Reply {
    let target = try target(path)
    return try await connect {
      try await $0.reply(to: target, headers, method: method, host: self.host)
    }
  }

  func connect<Value: Sendable>(
    receiveBuffer: Int? = nil, _ body: @Sendable (RawConnection) async throws -> Value
  ) async throws -> Value {
    try await RawConnection.open(port: port, receiveBuffer: receiveBuffer, body)
  }

  /// Returns the origin's log, once it has counted all bytes it sent.
  func settledLog(_ path: String) async throws -> OriginLog {
    try await origin.wait(for: path) { $0.running == 0 }
  }

  static func configuration() -> MediaCache.Configuration {
    var configuration = MediaCache.Configuration()
    configuration.limit = nil
    configuration.responseTimeout = .seconds(100)
    configuration.silenceTimeout = .seconds(100)
    configuration.retry.firstDelay = .milliseconds(1)
    configuration.retry.longestDelay = .milliseconds(20)
    return configuration
  }
}

/// Runs a test with a proxy in front of an origin, and ends both on every outcome.
func withProxy(
  directory: URL? = nil, origin given: OriginServer? = nil,
  cache change: (inout MediaCache.Configuration) -> Void = { _ in },
  proxy changeProxy: (inout CacheProxy.Configuration, OriginServer) -> Void = { _, _ in },
  _ body: (TestProxy) async throws -> Void
) async throws {
  let origin: OriginServer
  if let given { origin = given } else { origin = try await OriginServer.start() }
  var configuration = TestProxy.configuration()
  change(&configuration)
  let place =
    directory
    ?? FileManager.default.temporaryDirectory.appending(
      path: "refrain-proxy-test-\(UUID().uuidString)", directoryHint: .isDirectory)
  let test = try TestProxy(origin: origin, directory: place, cacheConfiguration: configuration) {
    changeProxy(&$0, origin)
  }
  let running = Task { try await test.proxy.run() }
  let result: Result<Void, any Error>
  do {
    try await test.proxy.waitUntilListening()
    result = .success(try await body(test))
  } catch {
    result = .failure(error)
  }
  await test.proxy.stop()
  _ = await running.result
  await test.cache.close()
  if given == nil { await origin.stop() }
  if directory == nil { try? FileManager.default.removeItem(at: place) }
  try result.get()
}

/// Runs a test with a shared reverse proxy of the origin.
func withReverseProxy(
  directory: URL? = nil, cache change: (inout MediaCache.Configuration) -> Void = { _ in },
  proxy changeProxy: (inout CacheProxy.Configuration) -> Void = { _ in },
  _ body: (TestProxy) async throws -> Void
) async throws {
  try await withProxy(
    directory: directory,
    cache: {
      $0.isShared = true
      change(&$0)
    },
    proxy: { configuration, origin in
      configuration.origin = origin.baseURL
      configuration.relayedMethods = .all
      changeProxy(&configuration)
    }, body)
}
