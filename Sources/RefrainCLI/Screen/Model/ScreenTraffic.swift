// SPDX-License-Identifier: MIT
import Refrain
import RefrainPlayer

/// The speed at which the current item comes from its origin.
struct ScreenTraffic {
  private var item: PlayQueue.Item.ID?
  private var speed = Speed()
  private let start = ContinuousClock.now

  /// Returns bytes per second; nil if nothing is being fetched.
  mutating func speed(_ state: PlayerState) -> Double? {
    guard let statistics = state.statistics else { return nil }
    if state.item?.id != item {
      item = state.item?.id
      speed = Speed()
    }
    speed.note(bytes: statistics.bytesFromOrigin, at: ContinuousClock.now - start)
    let now = max(0, speed.bytesPerSecond ?? 0)
    return state.fetching.isEmpty && now < 1024 ? nil : now
  }
}
