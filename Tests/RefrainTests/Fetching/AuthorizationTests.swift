// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

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
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for index in 0..<8 {
          group.addTask {
            let reader = try await test.cache.open(old)
            defer { reader.cancel() }
            let start = Int64(index) * 240_000
            let range = start..<start + 1000
            return try await Array(reader.bytes(in: range)) == bytes.bytes(in: range)
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
      #expect(hook.calls.withLock { $0 } == [401])
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
      let error = await #expect(throws: MediaCacheError.self) { try await test.read("/a", 0..<10) }
      #expect(error?.code == .status && error?.status == status)
      #expect(error?.remedy.isEmpty == false)
      #expect(hook.calls.withLock { $0 } == [status])
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  @Test func `The error of a failed authorization contains its cause`() async throws {
    struct NoPassword: Error {}
    try await withCache({ $0.authorize = { _, _ in throw NoPassword() } }) { test in
      test.origin.script("/a", .on(.all, .unauthorized))
      let error = await #expect(throws: MediaCacheError.self) { try await test.read("/a", 0..<10) }
      #expect(error?.status == 401)
      #expect(error?.reason.contains("NoPassword") == true)
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
      let error = await #expect(throws: MediaCacheError.self) { try await test.read("/a", 0..<10) }
      #expect(error?.status == 401)
      #expect(hook.count == 1)
      #expect(test.origin.log("/a").requests.count == 2)
    }
  }
}
