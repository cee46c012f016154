// SPDX-License-Identifier: MIT
public import Foundation

/// The description of the current item for lock screens, cars and watches.
public struct NowPlayingInfo: Sendable, Hashable {
  public var title: String?
  public var artist: String?
  public var album: String?
  /// The duration; nil while it is unknown, and for live streams.
  public var duration: Duration?
  public var position: Duration
  /// The rate while it plays; 1 is normal speed.
  public var rate: Double
  /// Whether it plays now: false while it is paused or waits.
  public var isPlaying: Bool
  public var isLive: Bool
  /// Whether the item has video.
  public var isVideo: Bool
  /// The index of the item in the queue, counted from 0.
  public var queueIndex: Int?
  public var queueCount: Int?
  /// A picture in PNG, JPEG or any other format that the system decodes.
  public var artwork: Data?

  public init(
    title: String? = nil, artist: String? = nil, album: String? = nil, duration: Duration? = nil,
    position: Duration = .zero, rate: Double = 1, isPlaying: Bool = false, isLive: Bool = false,
    isVideo: Bool = false, queueIndex: Int? = nil, queueCount: Int? = nil, artwork: Data? = nil
  ) {
    self.title = title
    self.artist = artist
    self.album = album
    self.duration = duration
    self.position = position
    self.rate = rate
    self.isPlaying = isPlaying
    self.isLive = isLive
    self.isVideo = isVideo
    self.queueIndex = queueIndex
    self.queueCount = queueCount
    self.artwork = artwork
  }
}

/// A command from a lock screen, headphones or a car.
public enum RemoteCommand: Sendable, Hashable {
  case play
  case pause
  case toggle
  case next
  case previous
  case seek(Duration)
  /// Skips forward, or back if negative.
  case skip(by: Duration)
  case rate(Double)
}
