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
  let log: Log

  init(
    origin: OriginServer, directory: URL, cacheConfiguration: MediaCache.Configuration,
    _ change: (inout CacheProxy.Configuration) -> Void
  ) throws {
    self.origin = origin
    self.directory = directory
    cache = try MediaCache(directory: directory, configuration: cacheConfiguration)
    var configuration = CacheProxy.Configuration()
    let log = Log()
    self.log = log
    configuration.log = { log.append($0) }
    // No test depends on the speed of the machine.
    configuration.endedInputTimeout = .seconds(100)
    // The end of a test does not wait for responses that it has left unfinished.
    configuration.stopTimeout = .milliseconds(50)
    change(&configuration)
    proxy = try CacheProxy(cache: cache, configuration: configuration)
  }

  final class Log: Sendable {
    private let requests = Mutex<[ServedRequest]>([])

    func append(_ request: ServedRequest) { requests.withLock { $0.append(request) } }

    var all: [ServedRequest] { requests.withLock { $0 } }
  }

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
    try await reply(to: target(path), headers, method: method)
  }

  /// Sends one request on a connection of its own.
  ///
  /// - Parameter host: the value of Host; nil: the proxy's own.
  func reply(
    to target: String, _ headers: [String] = [], method: String = "GET", host: String? = nil
  ) async throws -> Reply {
    let host = host ?? self.host
    return try await connect {
      try await $0.reply(to: target, headers, method: method, host: host)
    }
  }

  /// Returns the text of a request for a path of the origin.
  func request(
    for path: String, _ headers: [String] = [], method: String = "GET"
  ) throws -> String {
    let lines = ["\(method) \(try target(path)) HTTP/1.1", "Host: \(host)"] + headers
    return lines.map { $0 + "\r\n" }.joined() + "\r\n"
  }

  /// Runs a client that handles its connection as no library would.
  func onSocket<Value: Sendable>(
    receiveBuffer: CInt? = nil, _ body: @escaping @Sendable (PlainSocket) throws -> Value
  ) async throws -> Value {
    let port = port
    return try await onThread {
      try body(try PlainSocket(port: port, receiveBuffer: receiveBuffer))
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

/// Runs a test with an origin, and ends it on every outcome.
func withOrigin(
  sendBuffer: Int? = nil, _ body: (OriginServer) async throws -> Void
) async throws {
  let origin = try await OriginServer.start(sendBuffer: sendBuffer)
  let result: Result<Void, any Error>
  do { result = .success(try await body(origin)) } catch { result = .failure(error) }
  await origin.stop()
  try result.get()
}

/// Runs a test with a path for a new cache directory, which is removed afterwards.
func withDirectory(_ body: (URL) async throws -> Void) async throws {
  let directory = FileManager.default.temporaryDirectory.appending(
    path: "refrain-proxy-test-\(UUID().uuidString)", directoryHint: .isDirectory)
  defer { try? FileManager.default.removeItem(at: directory) }
  try await body(directory)
}

/// Runs a test with an origin and a cache directory that outlive the proxies in front of them.
func withSuccession(_ body: (OriginServer, URL) async throws -> Void) async throws {
  try await withOrigin { origin in
    try await withDirectory { directory in try await body(origin, directory) }
  }
}

/// Runs a test with a proxy in front of an origin, and ends both on every outcome.
func withProxy(
  directory: URL? = nil, origin given: OriginServer? = nil,
  cache change: (inout MediaCache.Configuration) -> Void = { _ in },
  proxy changeProxy: (inout CacheProxy.Configuration, OriginServer) -> Void = { _, _ in },
  _ body: (TestProxy) async throws -> Void
) async throws {
  guard let origin = given else {
    return try await withOrigin {
      try await withProxy(
        directory: directory, origin: $0, cache: change, proxy: changeProxy, body)
    }
  }
  guard let directory else {
    return try await withDirectory {
      try await withProxy(directory: $0, origin: origin, cache: change, proxy: changeProxy, body)
    }
  }
  var configuration = TestProxy.configuration()
  change(&configuration)
  let test = try TestProxy(
    origin: origin, directory: directory, cacheConfiguration: configuration
  ) { changeProxy(&$0, origin) }
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
  try result.get()
}

/// Runs a test with a shared reverse proxy of the origin.
func withReverseProxy(
  directory: URL? = nil, origin: OriginServer? = nil,
  cache change: (inout MediaCache.Configuration) -> Void = { _ in },
  proxy changeProxy: (inout CacheProxy.Configuration) -> Void = { _ in },
  _ body: (TestProxy) async throws -> Void
) async throws {
  try await withProxy(
    directory: directory, origin: origin,
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
