// SPDX-License-Identifier: MIT
public import Refrain

/// How a `Player` behaves. A value: changes after the player was made have no effect.
public struct PlayerConfiguration: Sendable, Hashable {
  /// What is fetched of an item while it plays.
  public var fill = FillPolicy.wholeResource
  /// Whether the item that plays next is fetched while the current one plays.
  public var prefetchesNext = true
  /// How much of the next item is fetched before all of the current one is there, in bytes.
  public var opening: Int64 = 512 << 10

  public init() {}
}
