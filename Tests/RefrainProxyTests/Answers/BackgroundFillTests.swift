// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

@Suite(.timeLimit(.minutes(1))) struct BackgroundFillTests {
  private static let length: Int64 = 100_000

  private func isStored(_ test: TestProxy, _ path: String) -> Bool {
    let log = test.origin.log(path)
    return log.distinctBytesSent == Self.length && log.running == 0
  }

  @Test func `Fills beyond the limit are left out, and begin when asked for again`() async throws {
    try await withProxy { test in
      let fills = BackgroundFills(cache: test.cache, mostRunning: 2)
      for path in ["/a", "/b", "/c"] {
        test.origin.serve(
          OriginResource(.synthetic(seed: 1, length: Self.length), etag: "\"1\""), at: path)
        test.origin.script(path, .on(.first(1), .stall(at: .body(30_000))))
        fills.begin(Resource(url: test.origin.url(path)))
      }
      try await eventually("two have begun") {
        ["/a", "/b"].allSatisfy { test.origin.log($0).stalled == 1 }
      }
      #expect(test.origin.log("/c").requests.isEmpty)
      test.origin.script("/c", FaultScript())
      for path in ["/a", "/b"] { test.origin.release(path) }
      try await eventually("there is room for the third") {
        fills.begin(Resource(url: test.origin.url("/c")))
        return !test.origin.log("/c").requests.isEmpty
      }
      try await eventually("all are stored") {
        ["/a", "/b", "/c"].allSatisfy { isStored(test, $0) }
      }
      await fills.stop()
    }
  }
}
