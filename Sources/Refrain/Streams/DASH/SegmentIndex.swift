// SPDX-License-Identifier: MIT

/// The index of the segments of a file (`sidx`, ISO/IEC 14496-12 §8.16.3). A pure value.
package struct SegmentIndex: Sendable, Hashable {
  package struct Segment: Sendable, Hashable {
    package var range: ByteRange
    package var seconds: Double
  }

  /// In the order of playing; not empty.
  package private(set) var segments: [Segment] = []

  /// Nil if the bytes contain no complete index, or one of further indices.
  ///
  /// - Parameters:
  ///   - bytes: boxes, among which the first index counts.
  ///   - offset: where the bytes begin in the file.
  package init?(_ bytes: [UInt8], at offset: Int64) {
    var reader = BoxReader(bytes)
    while let box = reader.box() {
      guard box.type == Self.type else {
        reader.position = box.end
        continue
      }
      guard let segments = Self.segments(&reader, until: box.end, at: offset) else { return nil }
      self.segments = segments
      return
    }
    return nil
  }

  private static let type = Array("sidx".utf8)

  private static func segments(
    _ reader: inout BoxReader, until end: Int, at offset: Int64
  ) -> [Segment]? {
    // Version and flags, the number of the track, its units in a second.
    guard let version = reader.integer(1), reader.integer(3) != nil, reader.integer(4) != nil,
      let timescale = reader.integer(4), timescale > 0
    else { return nil }
    let width = version == 0 ? 4 : 8
    guard reader.integer(width) != nil, let gap = reader.integer(width), reader.integer(2) != nil,
      let count = reader.integer(2), count > 0, reader.position + Int(count) * 12 <= end
    else { return nil }
    // The first segment follows the index.
    guard gap <= Int64.max / 4, offset <= Int64.max / 4 else { return nil }
    var start = offset + Int64(end) + Int64(gap)
    var segments: [Segment] = []
    for _ in 0..<count {
      guard let size = reader.integer(4), let duration = reader.integer(4),
        reader.integer(4) != nil,
        size & 0x8000_0000 == 0, size > 0
      else { return nil }
      segments.append(
        Segment(
          range: start..<start + Int64(size), seconds: Double(duration) / Double(timescale)))
      start += Int64(size)
    }
    return segments
  }
}

/// Reads big-endian integers and the headers of boxes.
private struct BoxReader {
  private let bytes: [UInt8]
  var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Nil at the end.
  mutating func integer(_ width: Int) -> UInt64? {
    guard width <= bytes.count - position else { return nil }
    defer { position += width }
    return bytes[position..<position + width].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Reads the header of a box, whose content follows. Nil if the box is not complete.
  mutating func box() -> (type: [UInt8], end: Int)? {
    let start = position
    guard var size = integer(4), integer(4) != nil else { return nil }
    let type = Array(bytes[start + 4..<start + 8])
    if size == 1 {
      guard let large = integer(8) else { return nil }
      size = large
    } else if size == 0 {
      size = UInt64(bytes.count - start)
    }
    guard size >= UInt64(position - start), size <= UInt64(bytes.count - start) else { return nil }
    return (type, start + Int(size))
  }
}
