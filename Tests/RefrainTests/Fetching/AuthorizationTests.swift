// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(1))) struct AuthorizationTests {
  private let length: Int64 = 2_000_003
  private let bytes = SyntheticBytes(seed: 7)

  private final class Hook: Sendable {
    let calls = Mutex<[Int]>([])
    var count: Int { calls.withLock { $0.count } }
  }

  private func guarded() -> OriginResource {
    var resource = OriginResource.synthetic(seed: 7, length: length)
    resource.requiredHeader = Field("Authorization", "Bearer new")
    return resource
  }

  @Test func `Concurrent refused fetches are authorized by one call`() async throws {
    let hook = Hook()
    try await withCache({
      $0.authorize = { resource, status in
        hook.calls.withLock { $0.append(status) }
        var renewed = resource
        renewed.headers["Authorization"] = "Bearer new"
        return renewed
      }
    }) { test in
      test.origin.serve(guarded(), at: "/a")
      let old = Resource(url: test.origin.url("/a"), headers: ["Authorization": "Bearer old"])
      let holder = try await test.cache.open(old)
      defer { holder.cancel() }
      try await concurrently(8) { index in
        let reader = try await test.cache.open(old)
        defer { reader.cancel() }
        let start = Int64(index) * 240_000
        let range = start..<start + 1000
        try await #expect(Array(reader.bytes(in: range)) == bytes.bytes(in: range))
      }
      #expect(hook.calls.withLock { $0 } == [401])
    }
  }

  /// As apps do whose hook waits for one new token.
  @Test func `Resources that are refused together are all requested with their new tokens`()
    async throws
  {
    let hook = Hook()
    let gate = Gate()
    try await withCache({
      $0.authorize = { resource, status in
        hook.calls.withLock { $0.append(status) }
        try await gate.wait()
        var renewed = resource
        renewed.headers["Authorization"] = "Bearer new"
        return renewed
      }
    }) { test in
      let paths = (0..<40).map { "/\($0)" }
      for path in paths { test.origin.serve(guarded(), at: path) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for path in paths {
          let old = Resource(url: test.origin.url(path), headers: ["Authorization": "Bearer old"])
          group.addTask {
            let reader = try await test.cache.open(old)
            defer { reader.cancel() }
            try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
          }
        }
        try await eventually("all are refused") { hook.count == paths.count }
        gate.open()
        try await group.waitForAll()
      }
      #expect(hook.count == paths.count)
    }
  }

  @Test func `An error of another cache that the hook throws is not tried again`() async throws {
    let hook = Hook()
    try await withCache({
      $0.retry.attempts = 3
      $0.authorize = { _, status in
        hook.calls.withLock { $0.append(status) }
        throw MediaCacheError(TransportError(.unreachable, "No token."), .playback)
      }
    }) { test in
      test.origin.serve(guarded(), at: "/a")
      await #expect(throws: MediaCacheError.self) { try await test.read("/a", 0..<1000) }
      #expect(hook.count == 1)
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  @Test func `An authorized request with another URL is stored under the same key`() async throws {
    try await withCache({
      $0.authorize = { resource, status in
        #expect(status == 403)
        var renewed = resource
        renewed.url.append(queryItems: [URLQueryItem(name: "token", value: "2")])
        return renewed
      }
      $0.cacheKey = { url in CacheKey(rawValue: url.path()) }
    }) { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a?token=2")
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, .status(403)))
      try await #expect(test.read("/a", 0..<1000) == bytes.bytes(in: 0..<1000))
      try await #expect(test.cache.entry(for: CacheKey(rawValue: "/a")) != nil)
    }
  }

  @Test(arguments: [401, 403, 410])
  func `A refusal is reported if the authorization hook returns no request`(
    _ status: Int
  ) async throws {
    let hook = Hook()
    try await withCache({
      $0.authorize = { _, status in
        hook.calls.withLock { $0.append(status) }
        return nil
      }
    }) { test in
      test.origin.script("/a", .on(.all, .status(status)))
      await expectError(.status, status: status) { try await test.read("/a", 0..<10) }
      #expect(hook.calls.withLock { $0 } == [status])
      // A 403 may be about the range.
      #expect(test.origin.log("/a").requests.count == (status == 403 ? 2 : 1))
    }
  }

  private struct NoPassword: Error {}

  /// A task that the hook has cancelled is none of those that wait for its answer.
  @Test(arguments: [NoPassword(), CancellationError()] as [any Error])
  func `The error of a failed authorization contains its cause`(_ cause: any Error) async throws {
    try await withCache({ $0.authorize = { _, _ in throw cause } }) { test in
      test.origin.script("/a", .on(.all, .unauthorized))
      let error = await expectError(.status, status: 401) { try await test.read("/a", 0..<10) }
      #expect(error?.reason.contains("\(cause)") == true)
    }
  }

  @Test(
    arguments: [
      URLError(.notConnectedToInternet), URLError(.timedOut),
      TransportError(.refused, "The token server is down."),
    ] as [any Error])
  func `An authorization that the network interrupts is no refusal`(
    _ cause: any Error
  ) async throws {
    let hook = Hook()
    try await withCache({
      $0.authorize = { resource, status in
        hook.calls.withLock { $0.append(status) }
        if hook.count == 1 { throw cause }
        var renewed = resource
        renewed.headers["Authorization"] = "Bearer new"
        return renewed
      }
    }) { test in
      test.origin.serve(guarded(), at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      let error = await expectError(.unreachable) { try await reader.bytes(in: 0..<10) }
      #expect(error?.status == nil)
      #expect(error?.reason.contains("401") == true)
      #expect(try await Array(reader.bytes(in: 0..<10)) == bytes.bytes(in: 0..<10))
      #expect(hook.calls.withLock { $0 } == [401, 401])
    }
  }

  @Test func `An authorization that is cancelled is no refusal`() async throws {
    let (calls, called) = AsyncStream.makeStream(of: Void.self)
    try await withCache({
      $0.authorize = { _, _ in
        called.yield()
        do {
          try await Task.sleep(for: .seconds(3600))
        } catch {
          // As URLSession has it.
          throw URLError(.cancelled)
        }
        return nil
      }
    }) { test in
      test.origin.serve(guarded(), at: "/a")
      let reading = Task { try await test.read("/a", 0..<10) }
      for await _ in calls { break }
      reading.cancel()
      await #expect(throws: CancellationError.self) { try await reading.value }
    }
  }

  @Test func `A request that is refused again is not authorized again`() async throws {
    let hook = Hook()
    try await withCache({
      $0.authorize = { resource, status in
        hook.calls.withLock { $0.append(status) }
        return resource
      }
    }) { test in
      test.origin.script("/a", .on(.all, .unauthorized))
      await expectError(.status, status: 401) { try await test.read("/a", 0..<10) }
      #expect(hook.count == 1)
      #expect(test.origin.log("/a").requests.count == 2)
    }
  }
}
