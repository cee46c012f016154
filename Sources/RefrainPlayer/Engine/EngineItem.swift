// SPDX-License-Identifier: MIT
public import Foundation
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
  /// The URL from which the engine plays a stream (HLS, DASH) in place of the media's, usually a
  /// local proxy's: the manifest and its segments come from there, through the cache. Nil: the
  /// media is no stream, or its bytes do not come through the cache.
  public var streamURL: URL?
  /// The bytes of the item to keep for going back in it if it is a live stream that an engine with
  /// that capability plays (`PlayerCapabilities.rewind`); nil: it does not seek.
  public var rewind: Int64?

  public init(
    id: ID, media: Media, fill: FillPolicy = .wholeResource, streamURL: URL? = nil,
    rewind: Int64? = nil
  ) {
    self.id = id
    self.media = media
    self.fill = fill
    self.streamURL = streamURL
    self.rewind = rewind
  }
}
