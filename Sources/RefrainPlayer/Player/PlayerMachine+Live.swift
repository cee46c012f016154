// SPDX-License-Identifier: MIT

extension PlayerMachine {
  /// Whether the current item is a live stream in which one can seek now.
  var canRewind: Bool {
    guard state.liveWindow != nil, case .ready = stage else { return false }
    return true
  }

  /// Seeks to the present of a live stream.
  mutating func seekToLive(_ actions: inout [PlayerAction]) {
    guard state.isLive else { return }
    seek(to: state.liveWindow?.live ?? .zero, &actions)
  }

  // MARK: Whether the listener left the present

  /// Records the kept part of a live stream. Whoever is paused falls behind it.
  mutating func noteWindow(_ window: LiveWindow) {
    state.liveWindow = window
    if !state.wantsToPlay, window.distance(of: state.position, hasLeftLive: true) != nil {
      state.hasLeftLive = true
    }
  }

  /// Records a pause.
  mutating func notePause() {
    if state.liveWindow != nil { state.hasLeftLive = true }
  }

  /// Records a seek, before it changes the position. One to the present returns there; one that does
  /// not go back leaves it no further.
  mutating func noteSeek(to target: Duration) {
    guard let window = state.liveWindow else { return }
    let isBehind = target < window.live
    state.hasLeftLive = isBehind && (state.hasLeftLive || target < state.position)
  }
}
