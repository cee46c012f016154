// SPDX-License-Identifier: MIT

/// The format of the file `usage`: words of eight bytes, little-endian, the last one a checksum. A
/// damaged file is treated as missing: the directory is measured.
extension UsageRecord {
  static let mostWriters = 100
  private static let magic: UInt64 = 0x3154_4955_5146_5231
  private static let headWords = 16 + 8

  func encoded() -> [UInt8] {
    var words: [UInt64] = [
      Self.magic, UInt64(bitPattern: used), UInt64(bitPattern: granted),
      UInt64(bitPattern: returned), UInt64(bitPattern: unchecked ?? -1), checkedAt.bitPattern,
      UInt64(writers.count), UInt64(bitPattern: checks), UInt64(bitPattern: slack),
      0, 0, 0, 0, 0, 0, 0,
    ]
    let identity = Self.padded(bootIdentity)
    for index in stride(from: 0, to: identity.count, by: 8) {
      words.append(identity[index..<index + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) })
    }
    for writer in writers {
      words += [
        writer.id, UInt64(bitPattern: writer.process), UInt64(bitPattern: writer.outstanding),
      ]
    }
    words.append(Self.checksum(words))
    return words.flatMap { word in withUnsafeBytes(of: word.littleEndian) { Array($0) } }
  }

  private static func padded(_ identity: String) -> [UInt8] {
    let text = Array(identity.utf8.prefix(64))
    return text + [UInt8](repeating: 0, count: 64 - text.count)
  }

  /// Returns nil if the bytes are not what `encoded` returns. Bytes after the checksum are ignored:
  /// an earlier record was longer.
  static func decode(_ bytes: [UInt8]) -> UsageRecord? {
    let words = stride(from: 0, to: bytes.count / 8 * 8, by: 8).map { start in
      bytes[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    guard words.count > headWords, words[0] == magic, words[6] <= UInt64(mostWriters) else {
      return nil
    }
    let end = headWords + 3 * Int(words[6])
    guard words.count > end, words[end] == checksum(Array(words[..<end])) else { return nil }
    let identity = bytes[128..<192].prefix { $0 != 0 }
    var record = UsageRecord(bootIdentity: String(decoding: identity, as: UTF8.self))
    record.used = Int64(bitPattern: words[1])
    record.granted = Int64(bitPattern: words[2])
    record.returned = Int64(bitPattern: words[3])
    let unchecked = Int64(bitPattern: words[4])
    record.unchecked = unchecked < 0 ? nil : unchecked
    record.checkedAt = Double(bitPattern: words[5])
    record.checks = Int64(bitPattern: words[7])
    record.slack = Int64(bitPattern: words[8])
    record.writers = stride(from: headWords, to: end, by: 3).map { index in
      Writer(
        id: words[index], process: Int64(bitPattern: words[index + 1]),
        outstanding: Int64(bitPattern: words[index + 2]))
    }
    // Bounds each number by an exbibyte, so that sums do not overflow.
    let counts =
      [record.used, record.granted, record.returned, record.checks, record.slack]
      + record.writers.map(\.outstanding)
    guard counts.allSatisfy({ (0..<1 << 60).contains($0) }), record.checkedAt.isFinite,
      unchecked < 1 << 60
    else { return nil }
    return record
  }

  private static func checksum(_ words: [UInt64]) -> UInt64 {
    words.reduce(0x5245_4652_4149_4E31) { sum, word in
      let mixed = (sum ^ word) &* 0xBF58_476D_1CE4_E5B9
      return mixed ^ (mixed >> 29)
    }
  }
}
