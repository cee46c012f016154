// SPDX-License-Identifier: MIT

/// Where a player shows video, and how. `PlayerCapabilities` states what is supported.
///
/// libmpv only: AVPlayer shows video in the views of AVKit.
public struct VideoConfiguration: Sendable, Hashable {
  public enum Output: Sendable, Hashable {
    /// Nowhere: only sound is decoded.
    case none
    /// In a window of the player's own, which opens when an item with video plays, and closes when
    /// it is over.
    case window
    /// In a window of the app. On X11, the ID is that of the window; Wayland has no such IDs.
    case embedded(windowID: UInt64)
  }

  public var output: Output
  /// Whether the cover of a song is shown too.
  public var showsCovers = false
  /// Whether the window has a controller, which appears when the pointer moves.
  public var hasController = true
  /// The application ID of the window on Wayland, and its name of WM_CLASS on X11; also without
  /// video, the name of the app at the sound server. Desktops find the app's icon by it.
  public var applicationID: String?
  /// The part behind the title of the item in the window's title and, also without video, in that
  /// of the stream at the sound server.
  public var applicationName: String?

  public init(_ output: Output = .none) { self.output = output }

  public static let none = VideoConfiguration(.none)
  public static let window = VideoConfiguration(.window)

  public static func embedded(windowID: UInt64) -> VideoConfiguration {
    VideoConfiguration(.embedded(windowID: windowID))
  }
}

/// The video that is shown.
public struct VideoStatus: Sendable, Hashable {
  /// The size of the picture in pixels, as it is to be shown.
  public var width: Int
  public var height: Int
  /// The name of the codec, as in `h264`.
  public var codec: String?
  /// The pictures per second that the media states.
  public var frameRate: Double?
  /// The name of the hardware decoder; nil: the processor decodes.
  public var hardwareDecoder: String?
  /// The number of pictures that were left out because they were late.
  public var droppedFrames: Int

  public init(
    width: Int, height: Int, codec: String? = nil, frameRate: Double? = nil,
    hardwareDecoder: String? = nil, droppedFrames: Int = 0
  ) {
    self.width = width
    self.height = height
    self.codec = codec
    self.frameRate = frameRate
    self.hardwareDecoder = hardwareDecoder
    self.droppedFrames = droppedFrames
  }
}
