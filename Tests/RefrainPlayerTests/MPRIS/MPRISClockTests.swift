// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainPlayer

  /// Positions that clients do not expect.
  struct MPRISClockTests {
    /// A clock, and the time at which it is asked.
    private final class Watch {
      private let start = ContinuousClock.now
      private var clock: MPRISClock

      init(at state: MPRISState) {
        clock = MPRISClock(at: start)
        _ = clock.isJump(to: state, at: start, hasSought: false)
      }

      func isJump(to state: MPRISState, after seconds: Double, hasSought: Bool = false) -> Bool {
        clock.isJump(to: state, at: start + .seconds(seconds), hasSought: hasSought)
      }
    }

    private func state(_ position: Double, _ change: (inout PlayerState) -> Void = { _ in })
      -> MPRISState
    {
      .sample {
        $0.position = .seconds(position)
        change(&$0)
      }
    }

    @Test func `Playing on at the rate is no jump`() {
      let watch = Watch(at: state(0) { $0.rate = 2 })
      for tenth in 1...100 {
        let now = state(Double(tenth) / 5) { $0.rate = 2 }
        #expect(!watch.isJump(to: now, after: Double(tenth) / 10))
      }
    }

    @Test func `A seek is reported when it is over, and once`() {
      let watch = Watch(at: state(0))
      let seeking = state(30) { $0.status = .buffering(.seek) }
      #expect(!watch.isJump(to: seeking, after: 0))
      #expect(watch.isJump(to: state(30), after: 1, hasSought: true))
      #expect(!watch.isJump(to: state(30.5), after: 1.5))
    }

    @Test func `A repeated item begins again, and waiting is reported`() {
      let watch = Watch(at: state(0))
      #expect(!watch.isJump(to: state(50), after: 50))
      #expect(watch.isJump(to: state(0), after: 51))
      // Nothing is heard for three seconds.
      #expect(watch.isJump(to: state(1), after: 55))
    }

    @Test func `A pause is no jump`() {
      let watch = Watch(at: state(0))
      let paused = state(5) { ($0.status, $0.wantsToPlay) = (.paused, false) }
      #expect(!watch.isJump(to: paused, after: 5))
      #expect(!watch.isJump(to: state(5), after: 500))
      #expect(!watch.isJump(to: state(6), after: 501))
    }

    @Test func `Another item begins at its start, or its position is reported`() {
      let watch = Watch(at: state(50))
      var next = state(0)
      next.player.queue.advance(.asked)
      #expect(!watch.isJump(to: next, after: 0))
      next.player.queue.advance(.asked)
      next.player.position = .seconds(20)
      #expect(watch.isJump(to: next, after: 0))
    }

    @Test func `A stopped player has no jumps`() {
      let watch = Watch(at: state(50))
      let stopped = state(0) { ($0.status, $0.wantsToPlay) = (.idle, false) }
      #expect(!watch.isJump(to: stopped, after: 9))
      #expect(!watch.isJump(to: state(0), after: 90))
    }
  }
#endif
