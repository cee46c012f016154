// SPDX-License-Identifier: MIT

/// Replacements of bytes in a body, applied in one pass. All other bytes stay as they are.
package struct ByteEdits: Sendable {
  private struct Edit: Sendable {
    var range: Range<Int>
    var bytes: [UInt8]
  }

  private var edits: [Edit] = []
  /// Whether the edits are in the order of the body.
  private var isSorted = true

  package init() {}

  package var isEmpty: Bool { edits.isEmpty }

  /// Replaces the bytes of `range`, as numbered in the unedited body. An empty range inserts, an
  /// empty replacement removes.
  package mutating func replace(_ range: Range<Int>, with bytes: [UInt8]) {
    if let last = edits.last, range.lowerBound < last.range.lowerBound { isSorted = false }
    edits.append(Edit(range: range, bytes: bytes))
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
    for edit in sorted {
      guard edit.range.lowerBound >= position, edit.range.upperBound <= body.count else { continue }
      result += body[position..<edit.range.lowerBound]
      result += edit.bytes
      position = edit.range.upperBound
    }
    result += body[position...]
    return result
  }

  private var sorted: [Edit] {
    if isSorted { return edits }
    return edits.enumerated().sorted {
      ($0.element.range.lowerBound, $0.offset) < ($1.element.range.lowerBound, $1.offset)
    }.map(\.element)
  }
}
