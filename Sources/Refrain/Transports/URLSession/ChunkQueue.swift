// SPDX-License-Identifier: MIT
import Foundation

/// The unread chunks of a body, in the order of arrival, and what their number of bytes asks of the
/// sender. A pure value.
struct ChunkQueue {
  /// The sender rests above `many` unread bytes, and goes on at `few` or fewer.
  static let many = 256 << 10
  static let few = 64 << 10
  /// The most unread bytes of a response whose rest can be requested later. URLSession may deliver
  /// for as long as it likes after a task was suspended.
  static let most = 2 << 20

  private var chunks: [Data] = []
  private var head = 0
  private(set) var byteCount = 0
  /// Whether the sender was last asked to rest.
  private(set) var isResting = false

  /// Returns whether the sender has to rest or to go on now; nil: no change.
  mutating func turn() -> Bool? {
    let rests = byteCount > (isResting ? Self.few : Self.many)
    guard rests != isResting else { return nil }
    isResting = rests
    return rests
  }

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
