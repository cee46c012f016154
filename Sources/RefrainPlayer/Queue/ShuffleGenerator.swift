// SPDX-License-Identifier: MIT

/// The generator SplitMix64. Each queue holds its own, which makes all its shuffling depend on its
/// value alone: previewing a round that is not shuffled yet, and continuing after it was stored and
/// read again.
struct ShuffleGenerator: RandomNumberGenerator, Sendable, Hashable, Codable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
