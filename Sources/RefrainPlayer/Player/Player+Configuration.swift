// SPDX-License-Identifier: MIT
public import Refrain

extension Player {
  /// The settings of a player. Changes have no effect once the player is created.
  public struct Configuration: Sendable, Hashable {
    /// The fill policy for an item while it plays.
    public var fill = FillPolicy.wholeResource
    /// Whether the next item is fetched while the current one plays.
    public var prefetchesNext = true
    /// How much of the next item is fetched before the current one is stored completely, in bytes.
    public var opening: Int64 = 512 << 10

    public init() {}
  }
}
