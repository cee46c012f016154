// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import RefrainProxy
import RefrainServer
import TestSupport
import Testing

/// An origin, and a proxy in front of it, usually with an empty cache.
struct Proxied {
  let origin: OriginServer
  let directory: URL
  let cache: MediaCache
  private let server: ProxyServer
  /// The number of bytes of each resource received from the origin, until the cache is closed.
  private let counting: Task<[CacheKey: Int64], Never>

  /// Returns the origin's URL of a path.
  func direct(_ path: String) -> URL { origin.url(path) }

  /// Returns the proxy's URL of a path.
  func proxied(_ path: String) throws -> URL { try server.proxy.url(for: origin.url(path)) }

  /// The URL of the proxy's page, if it has one: that of a node is on the operator's listener.
  var page: URL? { server.pageURL }

  /// Sends one request for a URL of the proxy.
  static func reply(to url: URL, _ fields: [String] = []) async throws -> Reply {
    guard let host = url.host(), let port = url.port else {
      throw ClientFailure(description: "\(url) has no port.")
    }
    let query = url.query(percentEncoded: true).map { "?\($0)" } ?? ""
    return try await RawConnection.open(port: port) { connection in
      try await connection.reply(
        to: url.path(percentEncoded: true) + query, fields, host: "\(host):\(port)")
    }
  }

  /// Serves the media at a new path, of which nothing is stored.
  func serve(_ media: Media, at path: String) async throws {
    origin.serve(try await media.resource(), at: path)
  }

  /// Ends the proxy and everything that it had begun: the origin's byte counts are final then.
  func stop() async {
    await server.proxy.stop()
    await cache.close()
    _ = await counting.value
  }

  /// Checks the bytes received from the origin against the bytes it serves at the path. Bytes in
  /// flight when a client jumped or left may have been sent again. Call after `stop`.
  func expectNoByteReceivedTwice(_ path: String, of bytes: Data) async {
    let log = origin.log(path)
    let asked = log.requests.map { $0.request.range ?? "all" }
    let count = Int64(log.requests.count)
    let received = await counting.value[CacheKey(url: origin.url(path))] ?? 0
    #expect(received <= Int64(bytes.count) + Self.mostInHand * count, "asked for \(asked)")
    #expect(log.bytesSentTwice <= Self.mostOnItsWay * count, "asked for \(asked)")
  }

  /// The bytes of one request between the socket and the disk.
  private static let mostInHand: Int64 = 96 << 10
  /// The bytes of one request, including its sockets: the system gives a fast connection a larger
  /// buffer, whose size depends on the reader's delays.
  private static let mostOnItsWay: Int64 = 1 << 20

  /// Runs `body`, and ends origin and proxy on every outcome.
  ///
  /// - Parameters:
  ///   - webOrigin: a server whose pages may read through the proxy. Default: the origin.
  ///   - hasPage: whether the proxy has a page.
  ///   - isNode: whether it is a shared reverse proxy of the origin, with a listener for the
  ///     operator.
  ///   - given: an origin that has been started; nil: starts one.
  ///   - stored: the directory of an existing cache; nil: a new one.
  static func with(
    pagesFrom webOrigin: OriginServer? = nil, hasPage: Bool = false,
    isNode: Bool = false, origin given: OriginServer? = nil, cacheIn stored: URL? = nil,
    _ body: (Proxied) async throws -> Void
  ) async throws {
    // Bytes in socket buffers count as sent: no more than on a network.
    guard let origin = given else {
      return try await withOrigin(sendBuffer: 64 << 10) {
        try await with(
          pagesFrom: webOrigin, hasPage: hasPage, isNode: isNode, origin: $0, cacheIn: stored, body)
      }
    }
    try await withDirectory { directory in
      var settings = MediaCache.Configuration()
      settings.isShared = isNode
      let cache = try MediaCache(
        directory: stored ?? directory.appending(path: "cache"), configuration: settings)
      let events = cache.events(includingTraffic: true)
      let counting = Task {
        var counts: [CacheKey: Int64] = [:]
        for await event in events {
          if case .received(let key, let count) = event { counts[key, default: 0] += Int64(count) }
        }
        return counts
      }
      var configuration = ProxyServer.Configuration()
      configuration.proxy.allowedWebOrigin = (webOrigin ?? origin).baseURL.absoluteString
      configuration.servesPage = hasPage
      // The end of a test does not wait for responses that it has left unfinished.
      configuration.proxy.stopTimeout = .milliseconds(200)
      if isNode {
        configuration.proxy.origin = origin.baseURL
        configuration.adminAddress = ListeningAddress(host: "127.0.0.1", port: 0)
      }
      let server = try ProxyServer(cache: cache, configuration: configuration)
      let running = Task { try await server.run() }
      let proxied = Proxied(
        origin: origin, directory: directory, cache: cache, server: server,
        counting: counting)
      let outcome: Result<Void, any Error>
      do {
        try await server.proxy.waitUntilListening()
        outcome = .success(try await body(proxied))
      } catch {
        outcome = .failure(error)
      }
      await proxied.stop()
      try await running.value
      try outcome.get()
    }
  }
}
