// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public typealias CMTimeValue = Int64
  public typealias CMTimeScale = Int32

  /// The part of CoreMedia's CMTime that the resource loader uses.
  public struct CMTime: Sendable, Hashable {
    public var value: CMTimeValue
    public var timescale: CMTimeScale
    private var isValidTime: Bool

    public init(value: CMTimeValue, timescale: CMTimeScale) {
      self.value = value
      self.timescale = timescale
      isValidTime = timescale > 0
    }

    public init(seconds: Double, preferredTimescale: CMTimeScale) {
      self.init(
        value: CMTimeValue((seconds * Double(preferredTimescale)).rounded()),
        timescale: preferredTimescale)
    }

    private init(value: CMTimeValue = 0) {
      (self.value, timescale, isValidTime) = (value, 0, false)
    }

    public static let invalid = CMTime()
    /// The duration of a live stream.
    public static let indefinite = CMTime(value: 1)
    public static let positiveInfinity = CMTime(value: 2)
    public static let zero = CMTime(value: 0, timescale: 1)

    public var isNumeric: Bool { isValidTime }
    public var isIndefinite: Bool { self == .indefinite }
    public var seconds: Double { isNumeric ? Double(value) / Double(timescale) : .nan }
  }

  public struct CMTimeRange: Sendable, Hashable {
    public var start: CMTime
    public var duration: CMTime

    public init(start: CMTime, duration: CMTime) {
      self.start = start
      self.duration = duration
    }

    public var end: CMTime {
      CMTime(
        value: start.value * CMTimeValue(duration.timescale) / CMTimeValue(max(start.timescale, 1))
          + duration.value, timescale: duration.timescale)
    }
  }

  /// A time range for Objective-C's collections, which need an object.
  public struct TimeRangeValue: Sendable, Hashable {
    public let timeRangeValue: CMTimeRange
  }
#endif
