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

    var upper: Int64 { lower + Int64(bytes.count) }
    var range: ByteRange { lower..<upper }
  }

  /// In ascending order, without overlap.
  private var chunks: [Chunk] = []
  private(set) var spans = RangeSet<Int64>()

  private static let chunkSize = 64 << 10

  var isEmpty: Bool { chunks.isEmpty }

  /// The number of chunks to search.
  var chunkCount: Int { chunks.count }

  /// Adds the part of `bytes` that is not there yet.
  mutating func insert(_ bytes: Data, at offset: Int64) {
    let range = offset..<(offset + Int64(bytes.count))
    let missing = RangeSet(range).subtracting(spans)
    for part in missing.ranges {
      let lower = bytes.startIndex + Int(part.lowerBound - offset)
      add(bytes[lower..<(lower + Int(part.upperBound - part.lowerBound))], at: part.lowerBound)
    }
    spans.insert(contentsOf: range)
  }

  private mutating func add(_ bytes: Data, at offset: Int64) {
    let index = indexOfChunk(after: offset)
    let last = index - 1
    if last >= 0, chunks[last].upper == offset,
      chunks[last].bytes.count + bytes.count <= Self.chunkSize
    {
      chunks[last].bytes.append(bytes)
    } else {
      chunks.insert(Chunk(lower: offset, bytes: bytes), at: index)
    }
  }

  /// Returns the index of the first chunk that begins after `offset`, by binary search.
  private func indexOfChunk(after offset: Int64) -> Int {
    var (low, high) = (0, chunks.count)
    while low < high {
      let middle = (low + high) / 2
      if chunks[middle].lower > offset { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Returns the bytes from `offset` to the end of the chunk that holds it.
  func bytes(at offset: Int64) -> Data? {
    let index = indexOfChunk(after: offset) - 1
    guard index >= 0, chunks[index].range.contains(offset) else { return nil }
    let chunk = chunks[index]
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

  mutating func removeAll() { self = TransientBytes() }
}
