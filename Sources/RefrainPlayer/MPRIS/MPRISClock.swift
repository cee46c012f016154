// SPDX-License-Identifier: MIT
#if os(Linux)
  /// Recognizes positions that clients do not expect. They count on from the last position that
  /// they know, at the rate, while the status is Playing; an item begins at 0. A pure value.
  struct MPRISClock {
    private var item: PlayQueue.Item.ID?
    private var position = Duration.zero
    private var time: ContinuousClock.Instant
    /// The seconds of media that clients count in a second.
    private var pace = 0.0

    /// The tolerated error: positions arrive about ten times a second.
    static let tolerance = Duration.seconds(1)

    init(at time: ContinuousClock.Instant) { self.time = time }

    /// Returns whether clients have to be given the position.
    ///
    /// - Parameter hasSought: whether a seek has just ended, which is always reported.
    mutating func isJump(
      to state: MPRISState, at now: ContinuousClock.Instant, hasSought: Bool
    ) -> Bool {
      let player = state.player
      if item != player.item?.id || state.playback == .stopped {
        item = player.item?.id
        set(.zero, at: now, pace: 0)
      }
      // The end of the seek is reported.
      if player.status == .buffering(.seek), !hasSought { return false }
      guard state.playback != .stopped else { return false }
      let newPace = state.playback == .playing ? player.rate : 0
      let difference = player.position - expected(at: now)
      let isJump =
        hasSought || difference > Self.tolerance || difference < .zero - Self.tolerance
      // From a new pace on, clients count from what they have counted so far.
      if isJump {
        set(player.position, at: now, pace: newPace)
      } else if newPace != pace {
        set(expected(at: now), at: now, pace: newPace)
      }
      return isJump
    }

    private func expected(at now: ContinuousClock.Instant) -> Duration {
      position + (now - time) * pace
    }

    private mutating func set(
      _ position: Duration, at now: ContinuousClock.Instant, pace: Double
    ) {
      (self.position, self.time, self.pace) = (position, now, pace)
    }
  }
#endif
