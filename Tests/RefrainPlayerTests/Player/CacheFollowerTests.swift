// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// The reports on what is stored of an item, and on what is being fetched.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct CacheFollowerTests {
  private nonisolated static let path = "/a.mp3"
  private static let length: Int64 = 16 << 20
  /// Where the first request stops.
  private static let stall: Int64 = 500_000
  /// Too far behind it for a reader to wait.
  private static let far: Int64 = 8 << 20

  @MainActor
  private final class Reports {
    var last = CacheFollower.Activity()
  }

  private struct Rig {
    let origin: OriginServer
    let cache: MediaCache
    let reports: Reports

    var resource: Resource { Resource(url: origin.url(CacheFollowerTests.path)) }
    @MainActor var fetching: RangeSet<Int64> { reports.last.fetching }

    @MainActor func follow() -> CacheFollower {
      CacheFollower(of: resource, in: cache, as: EngineItem.ID(rawValue: 1)) {
        [reports] activity in reports.last = activity
      }
    }

    /// Starts a prefetch, and returns once its request is stalled.
    func prefetch() async throws -> Task<Void, any Error> {
      let task = Task { [cache, resource] in _ = try await cache.prefetch(resource) }
      try await eventually("the first bytes are stored") {
        try await cache.progress(of: resource).spans.contains(0)
      }
      return task
    }
  }

  private func with(_ body: (Rig) async throws -> Void) async throws {
    try await withOrigin { configuration, origin in
      configuration.keepRequestsApart()
      var resource = OriginResource.synthetic(seed: 7, length: Self.length)
      resource.headers.append(Field("Cache-Control", "max-age=3600"))
      origin.serve(resource, at: Self.path)
      origin.script(
        Self.path,
        .on(.number(1), .stall(at: .resource(Self.stall)))
          .on(.number(2), .stall(at: .resource(Self.far + 10))))
    } _: { origin, cache, _ in
      try await body(Rig(origin: origin, cache: cache, reports: Reports()))
    }
  }

  @Test func `A request that began earlier is reported until it ends`() async throws {
    try await with { rig in
      let prefetch = try await rig.prefetch()
      let follower = rig.follow()
      try await eventually("half cached, and a request for the rest") {
        rig.reports.last.progress?.spans.contains(0) == true
          && rig.fetching.contains(Self.length - 1)
      }
      #expect(rig.reports.last.progress?.isComplete == false)
      rig.origin.release(Self.path)
      try await prefetch.value
      try await eventually("complete, and no request") {
        rig.reports.last.progress?.isComplete == true && rig.fetching.isEmpty
      }
      withExtendedLifetime(follower) {}
    }
  }

  @Test
  func `A request is reported until it ends, also if a longer one ends before`() async throws {
    try await with { rig in
      let follower = rig.follow()
      let prefetch = try await rig.prefetch()
      try await eventually("the request is reported") { rig.fetching.contains(Self.far) }

      // The reader does not wait for the first request, which is shortened.
      let reader = try await rig.cache.open(rig.resource)
      let read = Task { try await reader.bytes(in: Self.far..<Self.far + 1000) }
      _ = try await rig.origin.wait(for: Self.path) { $0.requests.count == 2 }
      try await eventually("nothing is fetched behind the second request") {
        rig.fetching.contains(Self.far) && !rig.fetching.contains(Self.length - 1)
      }
      #expect(rig.fetching.contains(Self.far - 1))

      prefetch.cancel()
      try await eventually("the first request has ended") {
        !rig.fetching.contains(Self.far - 1)
      }
      #expect(rig.fetching.contains(Self.far))

      rig.origin.release(Self.path)
      #expect(try await read.value.count == 1000)
      try await eventually("no request is left") { rig.fetching.isEmpty }
      reader.cancel()
      _ = await prefetch.result
      withExtendedLifetime(follower) {}
    }
  }
}
