// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain

/// The time of a live stream and of the cache in front of it: it stands still until a test moves it.
final class LiveTime: Sendable {
  let clock = LiveClock.standing()
  private let uptime = Uptime.now

  /// The clock for `MediaCache.Configuration.clock`.
  var now: @Sendable () -> Moment {
    { [clock, uptime] in Moment(wall: clock.date, uptime: uptime + clock.now / .seconds(1)) }
  }

  func advance(to seconds: Double) { clock.advance(to: .seconds(seconds)) }
}

/// Segments of synthetic bytes, all of one duration.
func liveSegments(
  _ count: Int, of seconds: Double, bytes: Int64 = 3000, discontinuities: Set<Int> = []
) -> [LiveStream.Segment] {
  (0..<count).map { number in
    LiveStream.Segment(
      SyntheticBytes(seed: UInt64(number)).bytes(in: 0..<bytes), duration: .seconds(seconds),
      isDiscontinuity: discontinuities.contains(number))
  }
}

/// Runs a test with a proxy in front of a live stream under `/live/`.
func withLiveStream(
  _ stream: LiveStream, cache change: (inout MediaCache.Configuration) -> Void = { _ in },
  _ body: (TestProxy, LiveTime) async throws -> Void
) async throws {
  let time = LiveTime()
  let setTime: (inout MediaCache.Configuration) -> Void = {
    $0.clock = time.now
    change(&$0)
  }
  try await withProxy(cache: setTime) { test in
    test.origin.serve(stream, under: "/live/", clock: time.clock)
    try await body(test, time)
  }
}

extension TestProxy {
  /// Requests a path with eight clients at once.
  ///
  /// - Parameter then: runs once the origin's response to the first of them is being waited for.
  func getWithEight(
    _ path: String, _ headers: [String] = [], then: @Sendable @escaping () -> Void
  ) async throws -> [Reply] {
    let bare = String(path.prefix { $0 != "?" })
    return try await withThrowingTaskGroup(of: Reply.self) { group in
      for _ in 0..<8 { group.addTask { try await self.get(path, headers) } }
      try await origin.wait(for: bare) { $0.stalled == 1 }
      then()
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }
}
