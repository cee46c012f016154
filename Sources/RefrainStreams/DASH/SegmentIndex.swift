// SPDX-License-Identifier: MIT
package import Refrain

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
    var rest = bytes[...]
    while !rest.isEmpty {
      let length = rest.count
      guard var size = rest.integer(4), let type = rest.integer(4) else { return nil }
      if size == 0 {
        size = UInt64(length)
      } else if size == 1 {
        guard let large = rest.integer(8) else { return nil }
        size = large
      }
      guard size >= UInt64(length - rest.count), size <= UInt64(length) else { return nil }
      let content = rest.prefix(Int(size) - (length - rest.count))
      // "sidx"
      if type == 0x7369_6478 {
        guard offset <= Int64.max / 4, read(content, endingAt: offset + Int64(content.endIndex))
        else { return nil }
        return
      }
      rest = rest[content.endIndex...]
    }
    return nil
  }

  /// - Returns: whether the content of the box is complete.
  private mutating func read(_ content: ArraySlice<UInt8>, endingAt end: Int64) -> Bool {
    var rest = content
    // Version and flags, the number of the track, its units in a second.
    guard let version = rest.integer(1), rest.integer(3) != nil, rest.integer(4) != nil,
      let timescale = rest.integer(4), timescale > 0
    else { return false }
    let width = version == 0 ? 4 : 8
    // The first segment follows the index after a gap.
    guard rest.integer(width) != nil, let gap = rest.integer(width), gap <= Int64.max / 4,
      rest.integer(2) != nil, let count = rest.integer(2), count > 0
    else { return false }
    var start = end + Int64(gap)
    for _ in 0..<count {
      guard let size = rest.integer(4), let duration = rest.integer(4), rest.integer(4) != nil,
        size & 0x8000_0000 == 0, size > 0
      else { return false }
      segments.append(
        Segment(
          range: start..<start + Int64(size), seconds: Double(duration) / Double(timescale)))
      start += Int64(size)
    }
    return true
  }
}

extension ArraySlice<UInt8> {
  /// Removes a big-endian integer from the beginning; nil if there are fewer bytes.
  fileprivate mutating func integer(_ width: Int) -> UInt64? {
    guard width <= count else { return nil }
    defer { removeFirst(width) }
    return prefix(width).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
