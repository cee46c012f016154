// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// No reader sends a request to an origin before its Retry-After time has passed.
@Suite(.timeLimit(.minutes(1))) struct OriginRestTests {
  private func withClock(
    _ body: (TestCache, TestClock) async throws -> Void
  ) async throws {
    let clock = TestClock()
    try await withCache({
      $0.retry = RetryPolicy()
      $0.clock = clock.now
    }) { test async throws in
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      try await body(test, clock)
    }
  }

  private func status(_ test: TestCache, _ authorization: String? = nil) async throws -> Int {
    var headers = HeaderFields()
    headers["Authorization"] = authorization
    do {
      let reader = try await test.cache.open(
        Resource(url: test.origin.url("/a"), headers: headers))
      defer { reader.cancel() }
      return try await reader.bytes(in: 0..<1000).count == 1000 ? 200 : 0
    } catch let error as MediaCacheError {
      return error.status ?? 0
    }
  }

  @Test(arguments: [503, 429])
  func `A later reader sends no request before Retry-After has passed`(
    _ answer: Int
  ) async throws {
    try await withClock { test, clock async throws in
      test.origin.script("/a", .on(.number(1), .status(answer, .seconds(20))))
      for _ in 0..<3 {
        #expect(try await status(test) == answer)
        clock.pass(6)
      }
      #expect(test.origin.log("/a").requests.count == 1)
      clock.pass(2.5)
      #expect(try await status(test) == 200)
    }
  }

  @Test
  func `A 503 pauses all clients, a 429 only the credentials that received it`() async throws {
    for (answer, others) in [(503, 503), (429, 200)] {
      try await withClock { test, _ async throws in
        test.origin.script("/a", .on(.number(1), .status(answer, .seconds(20))))
        #expect(try await status(test, "Bearer one") == answer)
        #expect(try await status(test, "Bearer one") == answer)
        #expect(try await status(test, "Bearer two") == others)
      }
    }
  }

  @Test func `Retry-After applies only to the requested resource`() {
    var rests = OriginRests(longest: .seconds(30))
    let start = Moment.now
    func resource(_ text: String) -> Resource { Resource(url: URL(filePath: text)) }
    let busy: HeaderFields = ["Retry-After": "10"]
    rests.note(resource("/a"), status: 503, headers: busy, at: start)
    func rest(_ path: String) -> OriginRests.Rest? { rests.rest(of: resource(path), at: start) }
    #expect(rest("/a") == .init(status: 503, seconds: 10))
    #expect(rest("/b") == nil)
    // No Retry-After, a delay of 0, and a status that does not report load.
    rests.note(resource("/c"), status: 503, headers: [:], at: start)
    rests.note(resource("/d"), status: 503, headers: ["Retry-After": "0"], at: start)
    rests.note(resource("/e"), status: 301, headers: busy, at: start)
    for path in ["/c", "/d", "/e"] { #expect(rest(path) == nil) }
  }

  @Test func `The remaining wait is in whole seconds and ends after the longest wait`() {
    var rests = OriginRests(longest: .seconds(30))
    let start = Moment.now
    let resource = Resource(url: URL(filePath: "/a"))
    func rest(after seconds: Double) -> OriginRests.Rest? {
      let now = Moment(wall: start.wall + seconds, uptime: start.uptime + seconds)
      return rests.rest(of: resource, at: now)
    }
    rests.note(resource, status: 503, headers: ["Retry-After": "3600"], at: start)
    #expect(rest(after: 0)?.seconds == 3600)
    #expect(rest(after: 29.5)?.seconds == 3571)
    #expect(rest(after: 30) == nil)
  }

  @Test func `Many responses with Retry-After take bounded memory`() {
    var rests = OriginRests(longest: .seconds(30))
    let start = Moment.now
    for number in 0..<10_000 {
      rests.note(
        Resource(url: URL(filePath: "/\(number)")), status: 503, headers: ["Retry-After": "9"],
        at: start)
    }
    let last = rests.rest(of: Resource(url: URL(filePath: "/9999")), at: start)
    let first = rests.rest(of: Resource(url: URL(filePath: "/0")), at: start)
    #expect(last != nil && first == nil)
  }
}
