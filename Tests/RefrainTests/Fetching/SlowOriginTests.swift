// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Origins that take long before the first byte of a response: of its head, or of its body.
@Suite(.timeLimit(.minutes(1))) struct SlowOriginTests {
  private let length: Int64 = 60_000
  private let bytes = SyntheticBytes(seed: 7)

  /// The body's first byte counts as one of the response, the others do not.
  @Test(arguments: [Fault.delay(.seconds(1)), .stall(at: .body(0), for: .seconds(1))])
  func `A response that begins later than a silence may last is one request`(
    _ fault: Fault
  ) async throws {
    try await withCache({ $0.silenceTimeout = .milliseconds(300) }) { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, fault))
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  @Test(arguments: [Fault.delay(nil), .stall(at: .body(0))])
  func `A request to which nothing comes is not repeated for a reader without bytes`(
    _ fault: Fault
  ) async throws {
    try await withCache({
      $0.responseTimeout = .milliseconds(200)
      $0.silenceTimeout = .milliseconds(100)
    }) { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, fault))
      let error = await expectError(.unreachable) { try await test.read("/a", 0..<10) }
      #expect(error?.isTimeout == true)
      // None, where the origin is so slow that it has not even read the request.
      #expect(test.origin.log("/a").requests.count <= 1)
    }
  }

  @Test func `A request to which nothing comes is sent twice while a reader plays`() async throws {
    try await withCache({ $0.responseTimeout = .milliseconds(200) }) { test in
      test.origin.serve(.synthetic(seed: 7, length: 1_000_000), at: "/a")
      test.origin.script("/a", .on(.where { $0.range != "bytes=0-65535" }, .delay(nil)))
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<1000)
      let error = await #expect(throws: MediaCacheError.self) {
        try await reader.bytes(in: 900_000..<900_010)
      }
      #expect(error?.isTimeout == true)
      let late = test.origin.log("/a").requests.filter {
        $0.request.range?.hasPrefix("bytes=900000-") == true
      }
      #expect(late.count == 2)
    }
  }

  // MARK: What is stored

  private func confirmsBriefly(
    _ change: (inout ReadTerms, inout Freshness) -> Void
  ) -> Bool {
    var state = GenerationState(
      limits: FetchPlan(patience: 0.5, firstRequest: 64 << 10, maximumReadAhead: 8 << 20),
      isOffline: false)
    let now = Moment.now
    var freshness = Freshness(confirmedAt: now.wall.addingTimeInterval(-100), lifetime: 10)
    var reader = GenerationState.Reader(minimum: 1)
    reader.attachment = .unconfirmed
    reader.terms.audience = .client
    change(&reader.terms, &freshness)
    state.representation.refresh(freshness, askedAt: freshness.confirmedAt, confirmedAt: now.uptime)
    _ = state.add(reader)
    return state.confirmsBriefly(at: now)
  }

  @Test func `A confirmation is awaited for long only if nothing plays without it`() {
    #expect(confirmsBriefly { _, _ in })
    #expect(!confirmsBriefly { $1.mustRevalidate = true })
    #expect(!confirmsBriefly { terms, _ in terms.directives.noCache = true })
    #expect(
      confirmsBriefly {
        $0.acceptsForbidden = true; $1.mustRevalidate = true
      })
    #expect(
      confirmsBriefly {
        $0.audience = .player; $1.mustRevalidate = true
      })
    // The next version of a live playlist would come too late.
    #expect(
      confirmsBriefly {
        $1.mustRevalidate = true; $1.pace = .every(6)
      })
  }
}
