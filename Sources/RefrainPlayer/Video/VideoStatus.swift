// SPDX-License-Identifier: MIT

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
