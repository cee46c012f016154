// SPDX-License-Identifier: MIT
import Foundation

/// Chunks in the order of arrival.
struct ChunkQueue {
  private var chunks: [Data] = []
  private var head = 0
  private(set) var byteCount = 0

  mutating func append(_ chunk: Data) {
    chunks.append(chunk)
    byteCount += chunk.count
  }

  mutating func popFirst() -> Data? {
    guard head < chunks.count else { return nil }
    let chunk = chunks[head]
    chunks[head] = Data()
    head += 1
    byteCount -= chunk.count
    if head == chunks.count || head == 1024 {
      chunks.removeFirst(head)
      head = 0
    }
    return chunk
  }
}
