// SPDX-License-Identifier: MIT

/// The value of `--rewind`.
enum RewindArgument {
  private static let units: [Character: Duration] = [
    "s": .seconds(1), "m": .seconds(60), "h": .seconds(3600),
  ]

  /// Reads `2h`, `30m`, `90s`, and what `TimeText.parse` reads.
  static func parse(_ text: String) throws -> Duration {
    let wrong = InvalidArgument("a duration is written as in 2h, 30m, 90s or 1:30:00")
    let duration: Duration
    if let unit = text.last.flatMap({ units[$0] }) {
      let digits = text.dropLast()
      guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(digits),
        number < 1_000_000
      else { throw wrong }
      duration = unit * number
    } else {
      guard let time = try? TimeText.parse(text) else { throw wrong }
      duration = time
    }
    guard duration >= .seconds(10) else {
      throw InvalidArgument("rewinding takes at least 10 seconds")
    }
    return duration
  }
}
