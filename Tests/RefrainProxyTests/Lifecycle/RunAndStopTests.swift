// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// `run()`, `stop()` and `waitUntilListening()`, in any order.
@Suite(.timeLimit(.minutes(2))) struct RunAndStopTests {
  private func withCache(_ body: (MediaCache) async throws -> Void) async throws {
    try await withDirectory { directory in
      let cache = try MediaCache(directory: directory)
      try await body(cache)
      await cache.close()
    }
  }

  private func code(_ body: () async throws -> Void) async -> CacheProxyError.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? CacheProxyError)?.code
    }
  }

  @Test func `URLs outlive the run, and the address is known only while listening`() async throws {
    try await withCache { cache in
      let proxy = try CacheProxy(cache: cache)
      let url = try #require(URL(string: "https://example.com/a%20b.mp3?x=1"))
      #expect(proxy.listeningAddress == nil)
      #expect(proxy.baseURL == nil)
      #expect(await code { _ = try proxy.url(for: url) } == .notListening)
      let running = Task { try await proxy.run() }
      try await proxy.waitUntilListening()
      let address = try #require(proxy.listeningAddress)
      #expect(address.host == "127.0.0.1" && address.port > 0)
      let base = try #require(proxy.baseURL).absoluteString
      #expect(base.hasPrefix("http://\(address)/") && base.hasSuffix("/"))
      let proxied = try proxy.url(for: url)
      #expect(proxied.absoluteString.hasPrefix(base))
      await proxy.stop()
      try await running.value
      #expect(proxy.listeningAddress == nil)
      // Players hold this URL: it does not change.
      #expect(try proxy.url(for: url) == proxied)
    }
  }

  @Test func `A configured port provides URLs before the proxy listens`() async throws {
    try await withCache { cache in
      var configuration = CacheProxy.Configuration()
      configuration.port = 8573
      configuration.token = "0123456789abcdef"
      let proxy = try CacheProxy(cache: cache, configuration: configuration)
      #expect(proxy.baseURL?.absoluteString == "http://127.0.0.1:8573/0123456789abcdef/")
      #expect(proxy.listeningAddress == nil)
    }
  }

  @Test func `A port already in use is reported to every waiting task`() async throws {
    try await withCache { cache in
      let first = try CacheProxy(cache: cache)
      let running = Task { try await first.run() }
      try await first.waitUntilListening()
      var configuration = CacheProxy.Configuration()
      configuration.port = first.listeningAddress?.port ?? 0
      let second = try CacheProxy(cache: cache, configuration: configuration)
      let waiting = Task { try await second.waitUntilListening() }
      #expect(await code { try await second.run() } == .addressInUse)
      #expect(await code { try await waiting.value } == .addressInUse)
      #expect(await code { try await second.waitUntilListening() } == .addressInUse)
      await second.stop()
      await first.stop()
      try await running.value
    }
  }

  @Test func `An address of another machine is reported as a usage error`() async throws {
    try await withCache { cache in
      var configuration = CacheProxy.Configuration()
      configuration.address = "192.0.2.1"
      configuration.origin = URL(string: "http://example.com")
      let proxy = try CacheProxy(cache: cache, configuration: configuration)
      #expect(await code { try await proxy.run() } == .addressUnavailable)
    }
  }

  @Test func `A name without an address is reported as such`() async throws {
    try await withCache { cache in
      var configuration = CacheProxy.Configuration()
      // An empty label: no server of names is asked (RFC 1035 §2.3.1).
      configuration.address = "no..name"
      configuration.origin = URL(string: "http://example.com")
      let proxy = try CacheProxy(cache: cache, configuration: configuration)
      let error = await #expect(throws: CacheProxyError.self) { try await proxy.run() }
      #expect(error?.code == .addressUnavailable)
      #expect(error?.description.contains("cannot listen on no..name") == true)
      #expect(error?.description.contains("UnknownHost") == false)
    }
  }

  @Test func `A proxy runs only once`() async throws {
    try await withCache { cache in
      let proxy = try CacheProxy(cache: cache)
      let running = Task { try await proxy.run() }
      try await proxy.waitUntilListening()
      #expect(await code { try await proxy.run() } == .alreadyRunning)
      await proxy.stop()
      await proxy.stop()
      try await running.value
      #expect(await code { try await proxy.run() } == .closed)
      #expect(await code { try await proxy.waitUntilListening() } == .closed)
    }
  }

  @Test func `A proxy stopped before running never listens`() async throws {
    try await withCache { cache in
      let proxy = try CacheProxy(cache: cache)
      let waiting = Task { try await proxy.waitUntilListening() }
      await proxy.stop()
      #expect(await code { try await waiting.value } == .closed)
      #expect(await code { try await proxy.run() } == .closed)
      #expect(await code { try await proxy.waitUntilListening() } == .closed)
      #expect(proxy.listeningAddress == nil)
    }
  }

  @Test func `A proxy stopped during its start ends`() async throws {
    try await withCache { cache in
      for round in 0..<30 {
        let proxy = try CacheProxy(cache: cache)
        let running = Task { try await proxy.run() }
        for _ in 0..<round { await Task.yield() }
        await proxy.stop()
        _ = await running.result
        #expect(proxy.listeningAddress == nil)
      }
    }
  }

  @Test func `Cancelling the task ends the run`() async throws {
    try await withCache { cache in
      let proxy = try CacheProxy(cache: cache)
      let running = Task { try await proxy.run() }
      try await proxy.waitUntilListening()
      let port = try #require(proxy.listeningAddress).port
      running.cancel()
      await #expect(throws: CancellationError.self) { try await running.value }
      try await PlainSocket.nobodyListens(port: port)
      let early = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await CacheProxy(cache: cache).run()
      }
      await #expect(throws: CancellationError.self) { try await early.value }
    }
  }

  @Test func `Waiting for the listener can be cancelled`() async throws {
    try await withCache { cache in
      let proxy = try CacheProxy(cache: cache)
      let waiting = Task { try await proxy.waitUntilListening() }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
    }
  }

  @Test func `An IPv6 address is supported, and bracketed in URLs`() async throws {
    try await withCache { cache in
      let origin = try await OriginServer.start()
      origin.serve(.synthetic(seed: 1, length: 5000), at: "/a")
      var configuration = CacheProxy.Configuration()
      configuration.address = "::1"
      let proxy = try CacheProxy(cache: cache, configuration: configuration)
      let running = Task { try await proxy.run() }
      do {
        try await proxy.waitUntilListening()
      } catch let error as CacheProxyError where error.code == .addressUnavailable {
        // The machine has no IPv6.
        return await origin.stop()
      }
      let url = try proxy.url(for: origin.url("/a"))
      #expect(url.absoluteString.hasPrefix("http://[::1]:"))
      let port = try #require(url.port)
      let target = String(url.absoluteString.dropFirst("http://[::1]:\(port)".count))
      for _ in 0..<2 {
        let reply = try await RawConnection.open(port: port, at: "::1") { connection in
          try await connection.reply(to: target, host: "[::1]:\(port)")
        }
        #expect(reply.status == 200)
        #expect(reply.body == SyntheticBytes(seed: 1).bytes(in: 0..<5000))
      }
      await proxy.stop()
      try await running.value
      await origin.stop()
    }
  }
}
