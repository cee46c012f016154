// SPDX-License-Identifier: MIT
import RefrainLocks

extension RangeSet<Int64> {
  func range(containing offset: Int64) -> ByteRange? {
    guard let index = indexOfFirstRange(endingAfter: offset) else { return nil }
    let range = ranges[index]
    return range.lowerBound <= offset ? range : nil
  }

  /// The first offset from `offset` on that is not in the set.
  func end(from offset: Int64) -> Int64 { range(containing: offset)?.upperBound ?? offset }

  /// The first offset from `offset` on that is in the set; nil if there is none.
  func nextLowerBound(atOrAfter offset: Int64) -> Int64? {
    guard let index = indexOfFirstRange(endingAfter: offset) else { return nil }
    return Swift.max(ranges[index].lowerBound, offset)
  }

  var byteCount: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

  package func byteCount(in range: ByteRange) -> Int64 { intersection(RangeSet(range)).byteCount }

  private func indexOfFirstRange(endingAfter offset: Int64) -> Int? {
    var low = ranges.startIndex
    var high = ranges.endIndex
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound <= offset { low = middle + 1 } else { high = middle }
    }
    return low < ranges.endIndex ? low : nil
  }
}

/// Spans that were written to the data file but not synced yet: a file of fixed-size records beside
/// the sidecar, which the next sync replaces. It is valid until the machine restarts
/// (`BootIdentity`): a killed process loses nothing, and after a power cut it is ignored.
///
/// A fetch has one record for the span that it extends, and overwrites it after each commit. No
/// record crosses a page, so a killed process leaves it as it was or as it is to be; one that is read
/// while it is written fails its checksum, and is skipped.
enum SpanJournal {
  static let suffix = ".spans"
  /// Of the header as of each record, in bytes.
  static let recordSize = 32

  static func fileName(generation: String, epoch: Int) -> String {
    "\(generation)-\(epoch)\(suffix)"
  }

  static func epoch(of name: String, generation: String) -> Int? {
    guard name.hasPrefix("\(generation)-"), name.hasSuffix(suffix) else { return nil }
    let digits = name.dropFirst(generation.count + 1).dropLast(suffix.count)
    return Int(digits).flatMap { (0..<EntryRecord.epochLimit).contains($0) ? $0 : nil }
  }

  /// Has no checksum: a damaged header matches no boot.
  static func header(bootIdentity: String) -> [UInt8] {
    [BootIdentity.number(of: bootIdentity), 0, 0, 0].bytes
  }

  static func record(_ span: ByteRange) -> [UInt8] {
    let words = [span.lowerBound, span.upperBound].map(UInt64.init(bitPattern:))
    return (words + [words.checksum, 0]).bytes
  }

  static func decode(_ bytes: [UInt8], bootIdentity: String) -> RangeSet<Int64> {
    var spans = RangeSet<Int64>()
    guard bytes.starts(with: header(bootIdentity: bootIdentity)) else { return spans }
    let words = [UInt64](bytes: bytes.dropFirst(recordSize))
    for start in stride(from: 0, through: words.count - 4, by: 4) {
      let (lower, upper) = (Int64(bitPattern: words[start]), Int64(bitPattern: words[start + 1]))
      guard words[start + 2] == words[start..<start + 2].checksum, lower >= 0, lower < upper
      else { continue }
      spans.insert(contentsOf: lower..<upper)
    }
    return spans
  }
}

/// An open journal. Its calls block.
final class JournalFile: Sendable {
  struct Run: Sendable {
    let journal: JournalFile
    let offset: Int64
    let span: ByteRange

    func write() throws(DiskError) {
      try journal.file.write(SpanJournal.record(span), at: offset)
    }
  }

  private let file: EntryFile
  private let end = Atomic(Int64(SpanJournal.recordSize))

  init(in directory: EntryDirectory, named name: String) throws(DiskError) {
    file = try EntryFile(
      path: "\(directory.path)/\(name)", mode: .create, lock: nil, disk: directory.disk)
    try file.write(SpanJournal.header(bootIdentity: directory.bootIdentity), at: 0)
  }

  /// Returns the run to write for a range, which extends the `last` one if it continues there.
  func run(for range: ByteRange, after last: Run?) -> Run {
    if let last, last.journal === self, last.span.upperBound == range.lowerBound {
      let span = last.span.lowerBound..<range.upperBound
      return Run(journal: self, offset: last.offset, span: span)
    }
    let offset = end.add(Int64(SpanJournal.recordSize), ordering: .relaxed).oldValue
    return Run(journal: self, offset: offset, span: range)
  }
}

extension BootIdentity {
  static func number(of identity: String) -> UInt64 { identity.utf8.map(UInt64.init).checksum }
}

extension Collection<UInt64> {
  /// A number that is right neither for zeros nor for an incomplete copy of the words.
  var checksum: UInt64 {
    reduce(0x5245_4652_4149_4E31) { sum, word in
      let mixed = (sum ^ word) &* 0xBF58_476D_1CE4_E5B9
      return mixed ^ (mixed >> 29)
    }
  }
}

extension [UInt64] {
  var bytes: [UInt8] { map(\.littleEndian).withUnsafeBytes { [UInt8]($0) } }

  init(bytes: ArraySlice<UInt8>) {
    self = bytes.withUnsafeBytes { buffer in
      (0..<buffer.count / 8).map {
        UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self))
      }
    }
  }
}
