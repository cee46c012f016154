// SPDX-License-Identifier: MIT
public import Refrain

/// One playback of one media, as an engine receives it. Playing the same media again takes another
/// item.
public struct EngineItem: Sendable, Hashable, Identifiable {
  public struct ID: Sendable, Hashable {
    public var rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }
  }

  public let id: ID
  public var media: Media
  /// The fill policy while the item plays.
  public var fill: FillPolicy

  public init(id: ID, media: Media, fill: FillPolicy = .wholeResource) {
    self.id = id
    self.media = media
    self.fill = fill
  }
}
