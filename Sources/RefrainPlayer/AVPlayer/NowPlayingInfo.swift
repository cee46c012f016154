// SPDX-License-Identifier: MIT
public import Foundation

/// What a lock screen, a car or a watch shows of what plays.
public struct NowPlayingInfo: Sendable, Hashable {
  public var title: String?
  public var artist: String?
  public var album: String?
  /// Nil: it has none, as a live stream has none, or it is not known yet.
  public var duration: Duration?
  public var position: Duration
  /// How fast it plays when it plays.
  public var rate: Double
  /// Whether it can be heard: false while it is paused, or waits.
  public var isPlaying: Bool
  public var isLive: Bool
  /// Whether moving pictures belong to it.
  public var isVideo: Bool
  /// Counted from 0.
  public var queueIndex: Int?
  public var queueCount: Int?
  /// A picture, as PNG, JPEG, or whatever else the system reads.
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

/// What somebody wants who has a lock screen, headphones or a car in their hands.
public enum RemoteCommand: Sendable, Hashable {
  case play
  case pause
  case toggle
  case next
  case previous
  case seek(Duration)
  /// Back, where it is below zero.
  case skip(by: Duration)
  case rate(Double)
}
