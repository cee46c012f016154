// SPDX-License-Identifier: MIT
import Foundation

/// Bytes that may not, or cannot, be stored: they live in memory between the fetch that brings them
/// and the readers that are near, and are dropped when no reader is. A pure value.
struct TransientBytes: Sendable {
  /// Ascending, without overlap.
  private var chunks: [(range: ByteRange, bytes: Data)] = []
  private(set) var spans = RangeSet<Int64>()

  var isEmpty: Bool { chunks.isEmpty }

  /// Adds what of `bytes` is not there yet.
  mutating func insert(_ bytes: Data, at offset: Int64) {
    let range = offset..<(offset + Int64(bytes.count))
    let missing = RangeSet(range).subtracting(spans)
    for part in missing.ranges {
      let lower = bytes.startIndex + Int(part.lowerBound - offset)
      let slice = bytes[lower..<(lower + Int(part.upperBound - part.lowerBound))]
      let index = chunks.firstIndex { $0.range.lowerBound > part.lowerBound } ?? chunks.count
      chunks.insert((part, slice), at: index)
    }
    spans.insert(contentsOf: range)
  }

  /// The bytes from `offset` to the end of the chunk that holds it.
  func bytes(at offset: Int64) -> Data? {
    guard let chunk = chunks.last(where: { $0.range.lowerBound <= offset }),
      chunk.range.contains(offset)
    else { return nil }
    return chunk.bytes[(chunk.bytes.startIndex + Int(offset - chunk.range.lowerBound))...]
  }

  /// Drops every chunk that no window touches.
  mutating func keep(near windows: [ByteRange]) {
    chunks.removeAll { chunk in
      let goes = !windows.contains { $0.overlaps(chunk.range) }
      if goes { spans.remove(contentsOf: chunk.range) }
      return goes
    }
  }

  mutating func removeAll() { self = TransientBytes() }
}
