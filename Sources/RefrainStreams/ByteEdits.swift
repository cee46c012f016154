// SPDX-License-Identifier: MIT

/// Replacements of bytes in a body, applied in one pass. All other bytes stay as they are.
package struct ByteEdits: Sendable {
  private var edits: [(range: Range<Int>, bytes: [UInt8])] = []

  package init() {}

  package var isEmpty: Bool { edits.isEmpty }

  /// Replaces the bytes of `range`, as numbered in the unedited body. An empty range inserts, an
  /// empty replacement removes.
  package mutating func replace(_ range: Range<Int>, with bytes: [UInt8]) {
    edits.append((range, bytes))
  }

  /// Replaces the bytes of `range` by the UTF-8 of `text`.
  package mutating func replace(_ range: Range<Int>, with text: String) {
    replace(range, with: Array(text.utf8))
  }

  /// Returns the length of the edited body, if no edits overlap.
  package func length(of body: [UInt8]) -> Int {
    edits.reduce(body.count) { $0 + $1.bytes.count - $1.range.count }
  }

  /// Returns the edited body. An edit that overlaps the one before it, or does not lie within the
  /// body, has no effect.
  package func applied(to body: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(max(length(of: body), 0))
    var position = 0
    // The sort is stable: edits at one place stay in their order.
    for (range, bytes) in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      guard range.lowerBound >= position, range.upperBound <= body.count else { continue }
      result += body[position..<range.lowerBound]
      result += bytes
      position = range.upperBound
    }
    result += body[position...]
    return result
  }
}
