// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite struct RetryPolicyTests {
  @Test func `The delay doubles up to the longest, and attempts are limited`() {
    var policy = RetryPolicy()
    policy.attempts = 10
    let waits = (1...10).map { policy.delay(afterFailures: $0) }
    #expect(
      waits == [
        .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8),
        .seconds(16), .seconds(30), .seconds(30), nil,
      ])
  }

  @Test func `Retry-After lengthens the delay, but not beyond the longest`() {
    let policy = RetryPolicy()
    #expect(policy.delay(afterFailures: 1, retryAfter: .seconds(5)) == .seconds(5))
    #expect(policy.delay(afterFailures: 1, retryAfter: .seconds(1 << 31)) == .seconds(30))
    #expect(policy.delay(afterFailures: 1, retryAfter: .seconds(-5)) == .milliseconds(250))
  }

  @Test func `Extreme settings neither trap nor give a negative delay`() {
    var policy = RetryPolicy()
    policy.attempts = .max
    for first in [Duration.zero, .seconds(-1), .seconds(Int64.max)] {
      for longest in [Duration.zero, .seconds(-1), .seconds(Int64.max)] {
        policy.firstDelay = first
        policy.longestDelay = longest
        for failures in [Int.min, -1, 0, 1, 64, .max - 1] {
          #expect((policy.delay(afterFailures: failures) ?? .zero) >= .zero)
        }
      }
    }
  }

  @Test func `Transient statuses are recognized`() {
    let transient = (100...599).filter(RetryPolicy.isTransient)
    #expect(transient.prefix(4) == [408, 425, 429, 500])
    for status in [200, 206, 301, 400, 401, 403, 404, 410, 416, 501, 505] {
      #expect(!RetryPolicy.isTransient(status: status))
    }
    for status in [500, 502, 503, 504, 507, 520, 599] {
      #expect(RetryPolicy.isTransient(status: status))
    }
  }

  private func times(
    _ failure: RetryPolicy.Failure, isPlaying: Bool, _ policy: RetryPolicy = RetryPolicy()
  ) -> Int {
    (1...100).first { policy.delay(after: failure, count: $0, isPlaying: isPlaying) == nil } ?? 0
  }

  @Test(arguments: [
    (RetryPolicy.Failure.answer, 2, 6), (.invalid, 2, 6), (.permanent, 1, 6), (.network, 6, 6),
    (.cutShort, 3, 3), (.silent, 1, 2),
  ])
  func `The number of attempts depends on the failure and on playback`(
    _ failure: RetryPolicy.Failure, _ first: Int, _ playing: Int
  ) {
    #expect(times(failure, isPlaying: false) == first)
    #expect(times(failure, isPlaying: true) == playing)
    var once = RetryPolicy()
    once.attempts = 1
    #expect(times(failure, isPlaying: false, once) == 1)
    #expect(times(failure, isPlaying: true, once) == 1)
  }

  @Test func `Only an error of the origin is reported at once with one first attempt`() {
    var policy = RetryPolicy()
    policy.firstAttempts = 1
    #expect(times(.answer, isPlaying: false, policy) == 1)
    #expect(times(.answer, isPlaying: true, policy) == 6)
    #expect(times(.invalid, isPlaying: false, policy) == 2)
    #expect(times(.silent, isPlaying: true, policy) == 2)
  }

  @Test func `The delay before the first byte is at most two seconds`() {
    var policy = RetryPolicy()
    func wait(_ retryAfter: Duration?, isPlaying: Bool = false) -> Duration? {
      policy.delay(after: .answer, count: 1, isPlaying: isPlaying, retryAfter: retryAfter)
    }
    #expect(wait(nil) == .milliseconds(250))
    #expect(wait(.seconds(2)) == .seconds(2))
    #expect(wait(.seconds(3)) == nil)
    #expect(wait(.seconds(3), isPlaying: true) == .seconds(3))
    policy.firstDelay = .seconds(20)
    #expect(wait(nil) == .seconds(2))
    #expect(wait(nil, isPlaying: true) == .seconds(20))
  }

  @Test(arguments: [RetryPolicy.Failure.network, .cutShort])
  func `A response that brought bytes is continued without a delay, unless they are very few`(
    _ failure: RetryPolicy.Failure
  ) {
    let policy = RetryPolicy()
    func delay(_ gained: Int64, count: Int = 1) -> Duration? {
      policy.delay(after: failure, count: count, isPlaying: false, gained: gained)
    }
    for gained in [1024, 30_000, .max] as [Int64] { #expect(delay(gained) == .zero) }
    for gained in [0, 1, 1023] as [Int64] { #expect(delay(gained) == .milliseconds(250)) }
    // Read again from its start, and cut at the same place: that was no progress.
    #expect(delay(30_000, count: 2) == .milliseconds(500))
    #expect(delay(30_000, count: 100) == nil)
  }
}

@Suite struct RetryAfterTests {
  static let now = Date(timeIntervalSince1970: 1_700_000_000)

  @Test(
    arguments: [
      ("0", .zero), ("120", .seconds(120)), (" 5 ", .seconds(5)), ("-5", nil),
      ("99999999999999999999999", .seconds(1 << 31)),
      (HTTPDate.format(now + 90), .seconds(90)), (HTTPDate.format(now - 90), .zero),
      ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(1 << 31)),
      ("", nil), ("-", nil), ("soon", nil), ("1.5", nil), ("+5", nil), ("5s", nil),
    ] as [(String, Duration?)])
  func `Retry-After is parsed as seconds or as a date`(_ text: String, _ expected: Duration?) {
    #expect(HeaderFields([("Retry-After", text)]).retryAfter(at: Self.now) == expected)
  }
}
