// SPDX-License-Identifier: MIT
import Foundation

/// Bytes that may not, or cannot, be stored: they stay in memory between the fetch that brings them
/// and nearby readers, and are dropped when no reader is near. A pure value.
///
/// Sequential bytes are gathered into chunks of some 64 KiB, however small the pieces, so that
/// there are few chunks to search and to drop.
struct TransientBytes: Sendable {
  private struct Chunk: Sendable {
    var lower: Int64
    var bytes: Data

    var range: ByteRange { lower..<(lower + Int64(bytes.count)) }
  }

  /// Without overlap.
  private var chunks: [Chunk] = []
  private(set) var spans = RangeSet<Int64>()

  private static let chunkSize = 64 << 10
  /// The most bytes that are kept ahead of a reader.
  static let mostAhead: Int64 = 2 << 20

  var isEmpty: Bool { chunks.isEmpty }

  /// Adds the part of `bytes` that is not there yet.
  mutating func insert(_ bytes: Data, at offset: Int64) {
    let range = offset..<(offset + Int64(bytes.count))
    for part in RangeSet(range).subtracting(spans).ranges {
      let lower = bytes.startIndex + Int(part.lowerBound - offset)
      let piece = bytes[lower..<(lower + Int(part.upperBound - part.lowerBound))]
      let last = chunks.lastIndex { chunk in
        chunk.range.upperBound == part.lowerBound
          && chunk.bytes.count + piece.count <= Self.chunkSize
      }
      if let last {
        chunks[last].bytes.append(piece)
      } else {
        chunks.append(Chunk(lower: part.lowerBound, bytes: piece))
      }
    }
    spans.insert(contentsOf: range)
  }

  /// Returns the bytes from `offset` to the end of the chunk that holds it.
  func bytes(at offset: Int64) -> Data? {
    guard let chunk = chunks.first(where: { $0.range.contains(offset) }) else { return nil }
    return chunk.bytes[(chunk.bytes.startIndex + Int(offset - chunk.lower))...]
  }

  /// Drops every chunk that overlaps no window.
  mutating func keep(near windows: [ByteRange]) {
    chunks.removeAll { chunk in
      let goes = !windows.contains { $0.overlaps(chunk.range) }
      if goes { spans.remove(contentsOf: chunk.range) }
      return goes
    }
  }
}
