// SPDX-License-Identifier: MIT
package import Foundation
@_exported public import OriginServer
package import Refrain
import RefrainLocks
package import RefrainProxy
package import RefrainServer
@_exported public import TestSupport

/// A proxy over a new cache and a new origin; all end with the test.
package final class TestProxy: Sendable {
  package let origin: OriginServer
  package let directory: URL
  package let cache: MediaCache
  package let proxy: CacheProxy
  /// Nil for a proxy without an operator's side.
  package let server: ProxyServer?
  package let log: Log

  /// - Parameter hasServer: whether the proxy has an operator's side.
  package init(
    origin: OriginServer, directory: URL, cacheConfiguration: MediaCache.Configuration,
    hasServer: Bool, _ change: (inout ProxyServer.Configuration) -> Void
  ) throws {
    self.origin = origin
    self.directory = directory
    cache = try MediaCache(directory: directory, configuration: cacheConfiguration)
    var configuration = ProxyServer.Configuration()
    let log = Log()
    self.log = log
    configuration.proxy.log = { log.append($0) }
    // The end of a test does not wait for responses that it has left unfinished.
    configuration.proxy.stopTimeout = .milliseconds(50)
    change(&configuration)
    server = hasServer ? try ProxyServer(cache: cache, configuration: configuration) : nil
    proxy = try server?.proxy ?? CacheProxy(cache: cache, configuration: configuration.proxy)
  }

  fileprivate func run() async throws {
    guard let server else { return try await proxy.run() }
    try await server.run()
  }

  package final class Log: Sendable {
    private let requests = Mutex<[ServedRequest]>([])

    package init() {}

    package func append(_ request: ServedRequest) { requests.withLock { $0.append(request) } }

    package var all: [ServedRequest] { requests.withLock { $0 } }
  }

  package var port: Int { proxy.listeningAddress?.port ?? 0 }

  package var host: String { "127.0.0.1:\(port)" }

  /// Returns the proxy's path for a path of the origin.
  package func target(_ path: String) throws -> String {
    let url = try proxy.url(for: origin.url(path)).absoluteString
    return String(url.dropFirst("http://\(host)".count))
  }

  package func key(_ path: String) -> CacheKey { cache.key(for: Resource(url: origin.url(path))) }

  package func get(
    _ path: String, _ headers: [String] = [], method: String = "GET"
  ) async throws -> Reply {
    try await reply(to: target(path), headers, method: method)
  }

  /// Sends one request on a connection of its own.
  ///
  /// - Parameter host: the value of Host; nil: the proxy's own.
  package func reply(
    to target: String, _ headers: [String] = [], method: String = "GET", host: String? = nil
  ) async throws -> Reply {
    let host = host ?? self.host
    return try await connect {
      try await $0.reply(to: target, headers, method: method, host: host)
    }
  }

  /// Returns the text of a request for a path of the origin.
  package func request(
    for path: String, _ headers: [String] = [], method: String = "GET"
  ) throws -> String {
    let lines = ["\(method) \(try target(path)) HTTP/1.1", "Host: \(host)"] + headers
    return lines.map { $0 + "\r\n" }.joined() + "\r\n"
  }

  /// Runs a client that handles its connection as no library would.
  package func onSocket<Value: Sendable>(
    receiveBuffer: CInt? = nil, _ body: @escaping @Sendable (PlainSocket) throws -> Value
  ) async throws -> Value {
    let port = port
    return try await onThread {
      try body(try PlainSocket(port: port, receiveBuffer: receiveBuffer))
    }
  }

  package func connect<Value: Sendable>(
    receiveBuffer: Int? = nil, _ body: @Sendable (RawConnection) async throws -> Value
  ) async throws -> Value {
    try await RawConnection.open(port: port, receiveBuffer: receiveBuffer, body)
  }

  /// Returns the origin's log, once it has counted all bytes it sent.
  package func settledLog(_ path: String) async throws -> OriginLog {
    try await origin.wait(for: path) { $0.running == 0 }
  }

  package static func configuration() -> MediaCache.Configuration {
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
package func withOrigin(
  sendBuffer: Int? = nil, _ body: (OriginServer) async throws -> Void
) async throws {
  let origin = try await OriginServer.start(sendBuffer: sendBuffer)
  let result: Result<Void, any Error>
  do { result = .success(try await body(origin)) } catch { result = .failure(error) }
  await origin.stop()
  try result.get()
}

/// Runs a test with a path for a new cache directory, which is removed afterwards.
package func withDirectory(_ body: (URL) async throws -> Void) async throws {
  let directory = FileManager.default.temporaryDirectory.appending(
    path: "refrain-proxy-test-\(UUID().uuidString)", directoryHint: .isDirectory)
  defer { try? FileManager.default.removeItem(at: directory) }
  try await body(directory)
}

/// Runs a test with an origin and a cache directory that outlive the proxies in front of them.
package func withSuccession(_ body: (OriginServer, URL) async throws -> Void) async throws {
  try await withOrigin { origin in
    try await withDirectory { directory in try await body(origin, directory) }
  }
}

/// Runs a test with a proxy in front of an origin, and ends both on every outcome.
package func withProxy(
  directory: URL? = nil, origin: OriginServer? = nil,
  cache change: (inout MediaCache.Configuration) -> Void = { _ in },
  proxy changeProxy: (inout CacheProxy.Configuration, OriginServer) -> Void = { _, _ in },
  _ body: (TestProxy) async throws -> Void
) async throws {
  try await withServer(
    false, directory: directory, origin: origin, cache: change,
    server: { changeProxy(&$0.proxy, $1) }, body)
}

/// Runs a test with a proxy in front of an origin, and ends both on every outcome.
///
/// - Parameter hasServer: whether the proxy has an operator's side.
package func withServer(
  _ hasServer: Bool = true, directory: URL? = nil, origin given: OriginServer? = nil,
  cache change: (inout MediaCache.Configuration) -> Void = { _ in },
  server changeServer: (inout ProxyServer.Configuration, OriginServer) -> Void = { _, _ in },
  _ body: (TestProxy) async throws -> Void
) async throws {
  guard let origin = given else {
    return try await withOrigin {
      try await withServer(
        hasServer, directory: directory, origin: $0, cache: change, server: changeServer, body)
    }
  }
  guard let directory else {
    return try await withDirectory {
      try await withServer(
        hasServer, directory: $0, origin: origin, cache: change, server: changeServer, body)
    }
  }
  var configuration = TestProxy.configuration()
  change(&configuration)
  let test = try TestProxy(
    origin: origin, directory: directory, cacheConfiguration: configuration, hasServer: hasServer
  ) { changeServer(&$0, origin) }
  let running = Task { try await test.run() }
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
package func withReverseProxy(
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

/// Runs a test with a shared reverse proxy of the origin, with an operator's side.
package func withReverseServer(
  cache change: (inout MediaCache.Configuration) -> Void = { _ in },
  server changeServer: (inout ProxyServer.Configuration) -> Void = { _ in },
  _ body: (TestProxy) async throws -> Void
) async throws {
  try await withServer(
    cache: {
      $0.isShared = true
      change(&$0)
    },
    server: { configuration, origin in
      configuration.proxy.origin = origin.baseURL
      configuration.proxy.relayedMethods = .all
      changeServer(&configuration)
    }, body)
}
