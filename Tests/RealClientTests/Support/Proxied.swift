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
  }

  /// Checks what the origin was asked for so far, against what it serves at the path. What was on its
  /// way when a client jumped or left may have been sent again.
  func expectNoByteReceivedTwice(_ path: String, of bytes: Data) {
    let log = origin.log(path)
    let asked = log.requests.map { $0.request.range ?? "all" }
    let most = Self.mostOnItsWay * Int64(log.requests.count)
    #expect(log.bytesSentTwice <= most, "asked for \(asked)")
    #expect(log.bodyBytesSent <= Int64(bytes.count) + most)
  }

  /// Of one request, in the sockets of both sides and in their hands.
  private static let mostOnItsWay: Int64 = 256 << 10

  /// Runs `body`, and ends both whatever becomes of it. Pages of the origin's may read through the
  /// proxy.
  static func with(_ body: (Proxied) async throws -> Void) async throws {
    try await withDirectory { directory in
      // What sockets hold counts as sent: no more than on a network.
      let origin = try await OriginServer.start(sendBuffer: 64 << 10)
      let cache = try MediaCache(directory: directory.appending(path: "cache"))
      var configuration = CacheProxy.Configuration()
      configuration.allowedWebOrigin = origin.baseURL.absoluteString
      let proxy = try CacheProxy(cache: cache, configuration: configuration)
      let running = Task { try await proxy.run() }
      let proxied = Proxied(origin: origin, directory: directory, cache: cache, proxy: proxy)
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
