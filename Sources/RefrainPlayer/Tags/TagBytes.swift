// SPDX-License-Identifier: MIT

/// The bytes of a media that were read so far, in pieces. A pure value.
///
/// Parsers ask for bytes at offsets. If those were not read, they throw `Missing`; their caller
/// reads them, and parses again from the start.
struct TagBytes: Sendable {
  /// Bytes that a parser needs to continue.
  struct Missing: Error, Hashable {
    var range: Range<Int64>
    /// Whether the bytes are worth reading only if that costs no request.
    var isOptional: Bool
  }

  /// The length of the media; nil: unknown.
  var length: Int64?
  private var pieces: [(start: Int64, bytes: [UInt8])] = []
  /// What is not going to be read.
  private var absent = RangeSet<Int64>()

  /// The largest number of bytes that a parser may ask for at once.
  let mostAtOnce: Int

  /// Enough for every text.
  static let usualMostAtOnce = 64 << 10

  init(length: Int64? = nil, mostAtOnce: Int = TagBytes.usualMostAtOnce) {
    self.length = length
    self.mostAtOnce = mostAtOnce
  }

  /// All bytes of a media, or of a part of one.
  init(_ bytes: [UInt8], mostAtOnce: Int = TagBytes.usualMostAtOnce) {
    self.init(length: Int64(bytes.count), mostAtOnce: mostAtOnce)
    add(bytes, at: 0)
  }

  // MARK: Reading

  /// Returns bytes; nil if the media ends before them, or they are not going to be read.
  ///
  /// - Parameter isOptional: `Missing.isOptional`.
  func bytes(
    _ count: Int, at offset: Int64, isOptional: Bool = false
  ) throws(Missing) -> ArraySlice<UInt8>? {
    guard offset >= 0, count >= 0, count <= mostAtOnce,
      let end = offset.plus(Int64(count)), end <= length ?? .max
    else { return nil }
    if count == 0 { return [] }
    for piece in pieces where piece.start <= offset {
      let place = offset - piece.start
      guard place + Int64(count) <= Int64(piece.bytes.count) else { continue }
      return piece.bytes[Int(place)..<(Int(place) + count)]
    }
    let range = offset..<end
    guard absent.intersection(RangeSet(range)).isEmpty else { return nil }
    throw Missing(range: range, isOptional: isOptional)
  }

  /// Returns at most so many bytes: fewer if the media is known to end before.
  func bytes(upTo count: Int, at offset: Int64) throws(Missing) -> ArraySlice<UInt8>? {
    let rest = length.map { max(0, $0 - max(0, offset)) } ?? .max
    return try bytes(Int(min(Int64(count), rest)), at: offset)
  }

  // MARK: Filling

  /// Adds bytes that were read. Pieces that touch become one.
  mutating func add(_ bytes: [UInt8], at start: Int64) {
    guard !bytes.isEmpty else { return }
    pieces.append((start, bytes))
    pieces.sort { $0.start < $1.start }
    var joined: [(start: Int64, bytes: [UInt8])] = []
    for piece in pieces {
      guard let last = joined.last, last.start + Int64(last.bytes.count) >= piece.start else {
        joined.append(piece)
        continue
      }
      let known = last.start + Int64(last.bytes.count) - piece.start
      guard known < Int64(piece.bytes.count) else { continue }
      joined[joined.count - 1].bytes += piece.bytes[Int(known)...]
    }
    pieces = joined
  }

  /// Records that a range is not going to be read.
  mutating func leaveOut(_ range: Range<Int64>) { absent.insert(contentsOf: range) }

  /// Whether there are bytes that a parser needed, and that are not going to be read.
  var hasGaps: Bool { !absent.isEmpty }

  /// Returns the first part of a range that was not read; nil if all of it was.
  func unread(of range: Range<Int64>) -> Range<Int64>? {
    var rest = RangeSet(range)
    for piece in pieces {
      rest.remove(contentsOf: piece.start..<(piece.start + Int64(piece.bytes.count)))
    }
    return rest.ranges.first
  }
}

extension Int64 {
  /// Returns the sum; nil if it does not fit. Lengths in media may be any number.
  func plus(_ other: Int64) -> Int64? {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? nil : sum
  }
}

extension Collection<UInt8> {
  /// The number that these bytes are, the most significant one first; at most the first eight
  /// count.
  var bigEndian: UInt64 { prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

  /// The number that these bytes are, the least significant one first.
  var littleEndian: UInt64 { prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } }

  func isText(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { elementsEqual($0) }
  }
}
