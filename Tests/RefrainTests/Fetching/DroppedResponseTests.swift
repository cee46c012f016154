// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// An origin that cuts each of its responses.
@Suite(.timeLimit(.minutes(1))) struct DroppedResponseTests {
  private let bytes = SyntheticBytes(seed: 7)

  /// Reads a resource whose responses each end after `cut` bytes.
  ///
  /// - Returns: the delays of its retries, and its requests.
  private func delays(
    length: Int64, cut: Int64, reset: Bool = false, supportsRanges: Bool = true
  ) async throws -> (delays: [Duration], requests: Int) {
    var delays: [Duration] = []
    var requests = 0
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, .drop(at: .body(cut), reset: reset)))
      let events = test.cache.events(includingTraffic: false)
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      requests = test.origin.log("/a").requests.count
      await test.cache.close()
      for await case .retrying(_, _, let delay) in events { delays.append(delay) }
    }
    return (delays, requests)
  }

  @Test func `Each retry after progress is sent at once`() async throws {
    let (delays, requests) = try await delays(length: 3 << 20, cut: 30_000)
    #expect(delays.count > 50 && delays.allSatisfy { $0 == .zero })
    // What is cut at the end of a request is no retry.
    #expect((100...130).contains(requests), "\(requests)")
  }

  @Test func `Responses that bring a few bytes each are not asked for in a tight loop`()
    async throws
  {
    let (delays, requests) = try await delays(length: 12, cut: 1)
    #expect(requests == 12 && delays.count == 11)
    #expect(delays.allSatisfy { $0 == .milliseconds(1) })
  }

  @Test func `A failure without progress is still followed by a delay`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: 100_000), at: "/a")
      test.origin.script(
        "/a", .on(.number(1), .drop(at: .body(30_000))).on(.number(2), .closeWithoutAnswer))
      let events = test.cache.events(includingTraffic: false)
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<100_000))
      await test.cache.close()
      var delays: [Duration] = []
      for await case .retrying(_, _, let delay) in events { delays.append(delay) }
      #expect(delays.first == .zero && delays.dropFirst().allSatisfy { $0 > .zero })
    }
  }
}
