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
}
