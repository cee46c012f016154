// SPDX-License-Identifier: MIT
#if canImport(AVFoundation)
  import CoreMedia
#else
  import AVFoundationStandIn
#endif

extension Duration {
  /// Creates a duration; nil for a time that is not numeric: unknown, indefinite or infinite.
  init?(_ time: CMTime) {
    guard time.isNumeric, time.timescale > 0 else { return nil }
    let scale = Int64(time.timescale)
    let (seconds, rest) = time.value.quotientAndRemainder(dividingBy: scale)
    let attoseconds = Double(rest) / Double(scale) * 1e18
    self.init(secondsComponent: seconds, attosecondsComponent: Int64(attoseconds))
  }

  /// The duration as a `CMTime`, clamped to a range that fits and exceeds any media.
  var mediaTime: CMTime {
    let scale: CMTimeScale = 1_000_000
    let (seconds, attoseconds) = components
    let bounded = min(max(seconds, -(1 << 40)), 1 << 40)
    return CMTime(
      value: bounded * CMTimeValue(scale) + attoseconds / 1_000_000_000_000, timescale: scale)
  }
}
