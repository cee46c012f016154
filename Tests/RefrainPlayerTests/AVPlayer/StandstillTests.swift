// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainPlayer

@Suite struct StandstillTests {
  private let start = ContinuousClock.now

  private func at(_ milliseconds: Int) -> ContinuousClock.Instant {
    start + .milliseconds(milliseconds)
  }

  private func advice(
    _ standstill: inout Standstill, _ milliseconds: Int, position: Duration = .seconds(5)
  ) -> Standstill.Advice {
    standstill.advice(canGoOn: true, position: position, now: at(milliseconds))
  }

  @Test func `A player that keeps stopping is retried at growing, limited intervals`() {
    var standstill = Standstill()
    var now = 0
    var delays: [Int] = []
    for _ in 0..<8 {
      standstill.noteStall()
      guard case .goOn(let next) = advice(&standstill, now) else {
        Issue.record("not tried at \(now)")
        return
      }
      standstill.notePlaying(at: .seconds(5))
      standstill.noteStall()
      #expect(advice(&standstill, now + 1) == .wait(until: next))
      let delay = Int((next - at(now)) / .milliseconds(1))
      delays.append(delay)
      now += delay
    }
    #expect(delays == [250, 500, 1000, 2000, 4000, 4000, 4000, 4000])
    // Once time has passed, the state is as at the beginning.
    standstill.notePlaying(at: .seconds(6))
    standstill.noteStall()
    #expect(
      advice(&standstill, now, position: .seconds(6)) == .goOn(lookingAt: at(now + 250)))
  }

  private struct Loaded {
    var position: Double
    var ranges: [Range<Duration>]
    var duration: Double?

    /// Loaded from `start` to `end`, all in seconds.
    init(_ position: Double, _ start: Double, _ end: Double, of duration: Double? = 100) {
      self.position = position
      ranges = [.seconds(start)..<Duration.seconds(end)]
      self.duration = duration
    }

    var isEnough: Bool {
      Standstill.isEnough(ranges, at: .seconds(position), of: duration.map { .seconds($0) })
    }
  }

  @Test func `Ten seconds ahead of the position are enough`() {
    #expect(Loaded(5, 0, 15).isEnough)
    #expect(!Loaded(5, 0, 14.8).isEnough)
    #expect(Loaded(5, 5.05, 15.1).isEnough)
    #expect(!Loaded(5, 5.2, 40).isEnough)
    #expect(!Loaded(5, 0, 5).isEnough)
    var apart = Loaded(5, 0, 6)
    apart.ranges.append(.seconds(8)..<Duration.seconds(90))
    #expect(!apart.isEnough)
    #expect(!Standstill.isEnough([], at: .seconds(5), of: .seconds(100)))
    // Of a live stream no end is known.
    #expect(Loaded(5, 0, 15, of: nil).isEnough)
    #expect(!Loaded(5, 0, 14, of: nil).isEnough)
  }

  @Test func `All of the rest is enough`() {
    #expect(Loaded(95, 0, 99.95).isEnough)
    #expect(!Loaded(95, 0, 99.5).isEnough)
    #expect(Loaded(5, 0, 6, of: 6).isEnough)
  }
}
