// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public import Foundation

  public let MPMediaItemPropertyTitle = "title"
  public let MPMediaItemPropertyArtist = "artist"
  public let MPMediaItemPropertyAlbumTitle = "albumTitle"
  public let MPMediaItemPropertyPlaybackDuration = "playbackDuration"
  public let MPMediaItemPropertyArtwork = "artwork"
  public let MPNowPlayingInfoPropertyElapsedPlaybackTime = "ElapsedPlaybackTime"
  public let MPNowPlayingInfoPropertyPlaybackRate = "PlaybackRate"
  public let MPNowPlayingInfoPropertyDefaultPlaybackRate = "DefaultPlaybackRate"
  public let MPNowPlayingInfoPropertyPlaybackQueueIndex = "PlaybackQueueIndex"
  public let MPNowPlayingInfoPropertyPlaybackQueueCount = "PlaybackQueueCount"
  @available(iOS 10, macOS 10.12.2, tvOS 10, visionOS 1, *)
  public let MPNowPlayingInfoPropertyIsLiveStream = "IsLiveStream"
  @available(iOS 10, macOS 10.12.2, tvOS 10, visionOS 1, *)
  public let MPNowPlayingInfoPropertyMediaType = "MediaType"

  public enum MPNowPlayingInfoMediaType: UInt, Sendable {
    case none, audio, video
  }

  public enum MPNowPlayingPlaybackState: UInt, Sendable {
    case unknown, playing, paused, stopped, interrupted
  }

  /// The contents of the lock screen. Not Sendable, as Apple's.
  @available(iOS 5, macOS 10.12.2, tvOS 9, visionOS 1, *)
  open class MPNowPlayingInfoCenter: NSObject {
    open var nowPlayingInfo: [String: Any]? {
      didSet { standInWrites += 1 }
    }
    @available(iOS 13, macOS 10.12.2, tvOS 13, visionOS 1, *)
    open var playbackState = MPNowPlayingPlaybackState.unknown
    /// The number of writes.
    package private(set) var standInWrites = 0

    @MainActor private static let center = MPNowPlayingInfoCenter()
    @MainActor open class func `default`() -> MPNowPlayingInfoCenter { center }

    override package init() {}
  }

  /// A picture known only by its bytes, which begin as a PNG or a JPEG does.
  @available(macOS, unavailable)
  open class UIImage: NSObject, @unchecked Sendable {
    public let size: CGSize

    public init?(data: Data) {
      guard data.starts(with: [0x89, 0x50]) || data.starts(with: [0xFF, 0xD8]) else { return nil }
      size = CGSize(width: 600, height: 600)
    }

    override public init() { size = .zero }
  }

  open class MPMediaItemArtwork: NSObject {
    private let handler: (CGSize) -> UIImage

    public init(boundsSize: CGSize, requestHandler: @escaping (CGSize) -> UIImage) {
      handler = requestHandler
    }

    open func image(at size: CGSize) -> UIImage? { handler(size) }
  }
#endif
