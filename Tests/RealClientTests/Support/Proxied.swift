// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import RefrainProxy
import Testing

/// An origin, and a proxy in front of it with an empty cache.
struct Proxied {
  let origin: OriginServer
  let directory: URL
  private let cache: MediaCache
  private let proxy: CacheProxy
  /// How many bytes of each resource came from the origin, until the cache is closed.
  private let counting: Task<[CacheKey: Int64], Never>

  /// Where the origin itself serves a path.
  func direct(_ path: String) -> URL { origin.url(path) }

  /// Where the proxy serves it.
  func proxied(_ path: String) throws -> URL { try proxy.url(for: origin.url(path)) }

  /// Serves the media at a path of its own, which nothing is stored of.
  func serve(_ media: Media, at path: String) async throws {
    origin.serve(try await media.resource(), at: path)
  }

  /// Ends the proxy, and with it all that it had begun: what the origin sent is final then.
  func stop() async {
    await proxy.stop()
    await cache.close()
    _ = await counting.value
  }

  /// Checks what came from the origin, against what it serves at the path. What was on its way when a
  /// client jumped or left may have been sent again. After `stop`.
  func expectNoByteReceivedTwice(_ path: String, of bytes: Data) async {
    let log = origin.log(path)
    let asked = log.requests.map { $0.request.range ?? "all" }
    let count = Int64(log.requests.count)
    let received = await counting.value[CacheKey(url: origin.url(path))] ?? 0
    #expect(received <= Int64(bytes.count) + Self.mostInHand * count, "asked for \(asked)")
    #expect(log.bytesSentTwice <= Self.mostOnItsWay * count, "asked for \(asked)")
  }

  /// Of one request, between the socket and the disk.
  private static let mostInHand: Int64 = 96 << 10
  /// Of one request, with what its sockets hold: the system gives a connection that was fast a larger
  /// buffer, how large depends on how long the reader was held up.
  private static let mostOnItsWay: Int64 = 1 << 20

  /// Runs `body`, and ends both whatever becomes of it. Pages of the origin's may read through the
  /// proxy.
  static func with(_ body: (Proxied) async throws -> Void) async throws {
    try await withDirectory { directory in
      // What sockets hold counts as sent: no more than on a network.
      let origin = try await OriginServer.start(sendBuffer: 64 << 10)
      let cache = try MediaCache(directory: directory.appending(path: "cache"))
      let events = cache.events(includingTraffic: true)
      let counting = Task {
        var counts: [CacheKey: Int64] = [:]
        for await event in events {
          if case .received(let key, let count) = event { counts[key, default: 0] += Int64(count) }
        }
        return counts
      }
      var configuration = CacheProxy.Configuration()
      configuration.allowedWebOrigin = origin.baseURL.absoluteString
      let proxy = try CacheProxy(cache: cache, configuration: configuration)
      let running = Task { try await proxy.run() }
      let proxied = Proxied(
        origin: origin, directory: directory, cache: cache, proxy: proxy, counting: counting)
      let outcome = await outcome {
        try await proxy.waitUntilListening()
        try await body(proxied)
      }
      await proxied.stop()
      await origin.stop()
      try await running.value
      try outcome.get()
    }
  }

  private static func outcome(
    _ body: () async throws -> Void
  ) async -> Result<Void, any Error> {
    do { return .success(try await body()) } catch { return .failure(error) }
  }
}
