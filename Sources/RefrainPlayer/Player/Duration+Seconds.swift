// SPDX-License-Identifier: MIT

extension Duration {
  var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  /// The duration as text, in whole seconds: `0:07`, `12:30`, `1:02:03`.
  var asTime: String {
    let all = max(0, components.seconds)
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60)
    return hours > 0
      ? "\(hours):\(two(minutes)):\(two(seconds))" : "\(minutes):\(two(seconds))"
  }

  /// Creates a duration, rounded to the microsecond: 1.1 is read back as 1.1. Nil for numbers that
  /// no media lasts: below zero, from thirty thousand years on, NaN.
  package init?(ofMedia seconds: Double) {
    guard seconds >= 0, seconds < 1e12 else { return nil }
    let whole = seconds.rounded(.down)
    let microseconds = ((seconds - whole) * 1e6).rounded()
    self = .seconds(Int64(whole)) + .microseconds(Int64(microseconds))
  }
}

extension KeyedDecodingContainer {
  /// Decodes seconds; nil if there are none.
  ///
  /// - Throws: `DecodingError` for a number that no media lasts.
  func decodeMediaTime(forKey key: Key) throws -> Duration? {
    guard let seconds = try decodeIfPresent(Double.self, forKey: key) else { return nil }
    guard let duration = Duration(ofMedia: seconds) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self,
        debugDescription: "\(seconds) is not a valid duration in seconds.")
    }
    return duration
  }
}

extension KeyedEncodingContainer {
  /// Encodes seconds; nothing for a duration that no media has.
  mutating func encodeMediaTime(_ duration: Duration?, forKey key: Key) throws {
    guard let seconds = duration?.inSeconds, Duration(ofMedia: seconds) != nil else { return }
    try encode(seconds, forKey: key)
  }
}
