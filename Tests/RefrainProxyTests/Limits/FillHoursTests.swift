// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import Testing

@testable import RefrainProxy

struct FillHoursTests {
  @Test(arguments: [
    ("01-07", [60, 419], [59, 420, 0, 1439]), ("22-06", [1320, 1439, 0, 359], [360, 1319, 720]),
    ("1:30-7:15", [90, 434], [89, 435]), ("00-24", [0, 720, 1439], []),
    ("18-24", [1080, 1439], [1079, 0]), ("23:59-00:00", [1439], [1438, 0]),
  ])
  func `Hours contain their minutes, and no others`(
    _ text: String, _ inside: [Int], _ outside: [Int]
  ) throws {
    let hours = try #require(CacheProxy.FillHours(parsing: text))
    for minute in inside { #expect(hours.contains(minute: minute), "\(minute)") }
    for minute in outside { #expect(!hours.contains(minute: minute), "\(minute)") }
  }

  @Test(arguments: [
    "", "-", "1", "01-", "-07", "01-07-09", "25-07", "01-24:01", "01:60-07", "01-01", "00-00",
    "24-00", "+1-7", "1.5-7", "001-7", "01:5-07", "a-b", "01:-07",
  ])
  func `Invalid or empty hours are refused`(_ text: String) {
    #expect(CacheProxy.FillHours(parsing: text) == nil)
  }

  @Test func `A minute of the day is that of the local time`() {
    let date = Date(timeIntervalSince1970: 1_700_000_000)
    let parts = Calendar.current.dateComponents([.hour, .minute], from: date)
    let expected = (parts.hour ?? 0) * 60 + (parts.minute ?? 0)
    #expect(CacheProxy.FillHours.minuteOfDay(date) == expected)
  }
}

/// `BackgroundFills` with hours.
@Suite(.timeLimit(.minutes(1))) struct BackgroundFillHoursTests {
  private static let length: Int64 = 100_000

  private func isStored(_ test: TestProxy, _ path: String) -> Bool {
    let log = test.origin.log(path)
    return log.distinctBytesSent == Self.length && log.running == 0
  }

  @Test func `Fills wait for their hours, and then fetch every resource once`() async throws {
    try await withProxy { test in
      let hours = try #require(CacheProxy.FillHours(parsing: "01-07"))
      let minute = Mutex(0)
      let fills = BackgroundFills(cache: test.cache, hours: hours) { minute.withLock { $0 } }
      let paths = (0..<9).map { "/\($0)" }
      for path in paths {
        test.origin.serve(.synthetic(seed: 1, length: Self.length), at: path)
        for _ in 0..<2 { fills.begin(Resource(url: test.origin.url(path))) }
      }
      fills.followHours()
      #expect(fills.waitingCount == paths.count)
      #expect(paths.allSatisfy { test.origin.log($0).requests.isEmpty })
      minute.withLock { $0 = 60 }
      fills.followHours()
      try await eventually("all are stored") { paths.allSatisfy { isStored(test, $0) } }
      #expect(fills.waitingCount == 0)
      await fills.stop()
      #expect(paths.allSatisfy { test.origin.log($0).bodyBytesSent == Self.length })
    }
  }

  @Test func `Without hours, no more fills run than may, and later ones begin anew`() async throws {
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

  @Test func `A fill ends with its hours, and goes on with the next ones`() async throws {
    try await withProxy { test in
      let hours = try #require(CacheProxy.FillHours(parsing: "01-07"))
      let minute = Mutex(60)
      let fills = BackgroundFills(cache: test.cache, hours: hours) { minute.withLock { $0 } }
      test.origin.serve(
        OriginResource(.synthetic(seed: 1, length: Self.length), etag: "\"1\""), at: "/a")
      test.origin.script("/a", .on(.first(1), .stall(at: .body(30_000))))
      fills.begin(Resource(url: test.origin.url("/a")))
      try await eventually("it has begun") { test.origin.log("/a").stalled == 1 }
      minute.withLock { $0 = 420 }
      fills.followHours()
      try await eventually("it has ended") { test.origin.log("/a").running == 0 }
      #expect(fills.waitingCount == 1)
      test.origin.script("/a", FaultScript())
      minute.withLock { $0 = 61 }
      try await eventually("it is stored") {
        // The fill that was ended may still be under way.
        fills.followHours()
        return test.origin.log("/a").distinctBytesSent == Self.length
      }
      await fills.stop()
    }
  }
}
