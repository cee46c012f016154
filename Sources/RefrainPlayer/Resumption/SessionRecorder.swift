// SPDX-License-Identifier: MIT

/// Decides when a player's queue and place are stored: at each change of the queue, at a pause, and
/// after each second that plays. A pure value.
struct SessionRecorder {
  private var stored: PlayerSession?
  /// The session at the last note.
  private var latest: PlayerSession?
  private var isFinal = false

  /// Notes the state of a player.
  ///
  /// - Parameter volume: the volume that the session keeps.
  /// - Returns: the session to store, if one is due, and whether it has to survive a power cut.
  mutating func note(
    _ state: PlayerState, volume: Double
  ) -> (session: PlayerSession, isFinal: Bool)? {
    guard !state.queue.isEmpty else { return leave() }
    var session = PlayerSession(
      queue: state.queue, position: state.isLive ? 0 : state.position.inSeconds, rate: state.rate,
      volume: volume, isMuted: state.isMuted)
    let isFinal: Bool
    switch state.status {
    case .loading, .playing, .buffering: isFinal = false
    case .paused, .failed: isFinal = true
    case .ended:
      // Restored, it begins again.
      session.queue.rewind()
      session.position = 0
      isFinal = true
    case .idle:
      // A restored session that has not played yet is stored already. A stopped player has no
      // position any more.
      guard let latest, latest.queue.items != state.queue.items else { return leave() }
      session.position = latest.queue.current == state.queue.current ? latest.position : 0
      isFinal = true
    }
    latest = session
    guard isDue(session, isFinal) else { return nil }
    (stored, self.isFinal) = (session, isFinal)
    return (session, isFinal)
  }

  /// Returns the session to store, if one is due, when the player is stopped or closed.
  mutating func leave() -> (session: PlayerSession, isFinal: Bool)? {
    guard let latest, isDue(latest, true) else { return nil }
    (stored, isFinal) = (latest, true)
    return (latest, true)
  }

  private func isDue(_ session: PlayerSession, _ isFinal: Bool) -> Bool {
    guard let stored else { return true }
    if isFinal, !self.isFinal || session != stored { return true }
    var here = session
    here.position = stored.position
    return here != stored
      || abs(session.position - stored.position) >= MarkRecorder.step.inSeconds
  }
}
