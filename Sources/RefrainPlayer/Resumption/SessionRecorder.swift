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
  /// - Parameters:
  ///   - state: the state of the player.
  ///   - volume: the volume that the session keeps.
  ///   - choices: what the listener has chosen for the current item.
  /// - Returns: the session to store, if one is due, and whether it has to survive a power cut.
  mutating func note(
    _ state: PlayerState, volume: Double, choices: ItemChoices = ItemChoices()
  ) -> (session: PlayerSession, isFinal: Bool)? {
    guard !state.queue.isEmpty else { return leave() }
    var session = PlayerSession(
      queue: state.queue, position: state.isLive ? 0 : state.position.inSeconds, rate: state.rate,
      volume: volume, isMuted: state.isMuted, audio: choices.audio, subtitle: choices.subtitle)
    // Stopped or failed, the player knows neither the position nor the choices any more.
    let before = latest.flatMap { $0.queue.current == state.queue.current ? $0 : nil }
    let isFinal: Bool
    switch state.status {
    case .loading, .playing, .buffering: isFinal = false
    case .paused: isFinal = true
    case .failed:
      (session.audio, session.subtitle) = (before?.audio, before?.subtitle)
      isFinal = true
    case .ended:
      // Restored, it begins again.
      session.queue.rewind()
      (session.position, session.audio, session.subtitle) = (0, nil, nil)
      isFinal = true
    case .idle:
      // A restored session that has not played yet is stored already.
      guard let latest, latest.queue.items != state.queue.items else { return leave() }
      session.position = before?.position ?? 0
      (session.audio, session.subtitle) = (before?.audio, before?.subtitle)
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
