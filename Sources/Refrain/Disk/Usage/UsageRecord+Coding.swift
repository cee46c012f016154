// SPDX-License-Identifier: MIT

/// The format of the file `usage`: words of eight bytes, little-endian, the last one a checksum. A
/// damaged file is treated as missing: the directory is measured.
extension UsageRecord {
  static let mostWriters = 100
  private static let magic: UInt64 = 0x3154_4955_5146_5232
  private static let headWords = 8
  /// Bounds each number by an exbibyte, so that sums do not overflow.
  private static let counts: Range<Int64> = 0..<1 << 60

  func encoded() -> [UInt8] {
    var words: [UInt64] = [
      Self.magic, boot, UInt64(bitPattern: used), UInt64(bitPattern: granted),
      UInt64(bitPattern: guess ?? -1), UInt64(bitPattern: measurements), measuredAt.bitPattern,
      UInt64(writers.count),
    ]
    for writer in writers {
      words += [
        writer.id, UInt64(bitPattern: writer.process), UInt64(bitPattern: writer.outstanding),
      ]
    }
    words.append(Self.checksum(words))
    return words.flatMap { word in withUnsafeBytes(of: word.littleEndian) { Array($0) } }
  }

  /// Returns nil if the bytes are not what `encoded` returns. Bytes after the checksum are ignored:
  /// an earlier record was longer.
  static func decode(_ bytes: [UInt8]) -> UsageRecord? {
    let words = stride(from: 0, to: bytes.count / 8 * 8, by: 8).map { start in
      bytes[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    guard words.count > headWords, words[0] == magic, words[7] <= UInt64(mostWriters) else {
      return nil
    }
    let end = headWords + 3 * Int(words[7])
    guard words.count > end, words[end] == checksum(words[..<end]) else { return nil }
    let numbers = words.map(Int64.init(bitPattern:))
    var record = UsageRecord(
      used: numbers[2], granted: numbers[3], guess: numbers[4] < 0 ? nil : numbers[4],
      measurements: numbers[5], measuredAt: Double(bitPattern: words[6]), boot: words[1])
    record.writers = stride(from: headWords, to: end, by: 3).map { index in
      Writer(id: words[index], process: numbers[index + 1], outstanding: numbers[index + 2])
    }
    let all =
      [record.used, record.granted, record.guess ?? 0, record.measurements]
      + record.writers.map(\.outstanding)
    guard all.allSatisfy(counts.contains), record.measuredAt.isFinite else { return nil }
    return record
  }

  /// Returns the number of a boot of that identity.
  static func number(ofBoot identity: String) -> UInt64 { checksum(identity.utf8.map(UInt64.init)) }

  private static func checksum(_ words: some Sequence<UInt64>) -> UInt64 {
    words.reduce(0x5245_4652_4149_4E31) { sum, word in
      let mixed = (sum ^ word) &* 0xBF58_476D_1CE4_E5B9
      return mixed ^ (mixed >> 29)
    }
  }
}
