// SPDX-License-Identifier: MIT
public import Refrain

/// One playing of one media: what an engine is given. Playing the same media again is another item.
public struct EngineItem: Sendable, Hashable, Identifiable {
  public struct ID: Sendable, Hashable {
    public var rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }
  }

  public let id: ID
  public var media: Media
  /// What is fetched while it plays.
  public var fill: FillPolicy

  public init(id: ID, media: Media, fill: FillPolicy = .wholeResource) {
    self.id = id
    self.media = media
    self.fill = fill
  }
}
