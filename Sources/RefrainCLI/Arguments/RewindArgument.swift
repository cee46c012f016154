// SPDX-License-Identifier: MIT

/// The value of `--rewind`.
enum RewindArgument {
  private static let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600]

  /// What a second of sound with 128 kbit/s takes in libmpv's memory, in bytes.
  private static let bytesPerSecond = 40 << 10
  private static let least: Int64 = 1 << 20

  /// Reads a size, as `ByteSize.parse`, or a time: `2h`, `30m`, `90s`, and what `TimeText.parse`
  /// reads. `30m` is half an hour, and `30M` a size.
  ///
  /// - Returns: the bytes to keep.
  static func parse(_ text: String) throws -> Int64 {
    let bytes = try seconds(text).map { Int64($0) * Int64(bytesPerSecond) } ?? size(text)
    guard bytes >= least else { throw InvalidArgument("rewinding takes at least 30s or 1MiB") }
    return bytes
  }

  /// Returns nil if the text is no time.
  private static func seconds(_ text: String) -> Int? {
    guard let unit = text.last.flatMap({ units[$0] }) else {
      return (try? TimeText.parse(text)).map { Int($0 / .seconds(1)) }
    }
    let digits = text.dropLast()
    guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(digits),
      number < 1_000_000
    else { return nil }
    return unit * number
  }

  private static func size(_ text: String) throws -> Int64 {
    guard text.last?.isLowercase == false, let size = try? ByteSize.parse(text) else {
      throw InvalidArgument("write a size as in 64MiB, or a time as in 2h, 30m, 90s or 1:30:00")
    }
    return size
  }
}
