// SPDX-License-Identifier: MIT

/// A line of an HLS playlist that is not blank.
struct HLSLine {
  enum Content {
    /// A variant or a segment.
    case uri
    /// A known tag, and the bytes after its colon.
    case tag(HLSTag, value: Range<Int>)
    /// A comment or an unknown tag.
    case comment
  }

  var content: Content
  /// The bytes without the spaces around them and without the line ending.
  var text: Range<Int>
  /// The bytes of the whole line, with its line ending.
  var whole: Range<Int>
}

/// The lines of an HLS playlist. A line ends with LF, CRLF or CR, as in ffmpeg and hls.js.
struct HLSLines: Sequence, IteratorProtocol {
  private let body: [UInt8]
  private let end: Int
  private var position: Int

  /// - Parameter range: the bytes of the lines; it is limited to those of the body.
  init(_ body: [UInt8], in range: Range<Int>) {
    self.body = body
    let range = range.clamped(to: 0..<body.count)
    position = range.lowerBound
    end = range.upperBound
  }

  mutating func next() -> HLSLine? {
    while position < end {
      let start = position
      let textEnd = endOfLine(from: start)
      position = Swift.min(textEnd + 1, end)
      if textEnd + 1 < end, body[textEnd] == UInt8.carriageReturn,
        body[textEnd + 1] == UInt8.lineFeed
      {
        position += 1
      }
      let text = body.trimmingBlanks(start..<textEnd)
      if !text.isEmpty {
        return HLSLine(content: content(of: text), text: text, whole: start..<position)
      }
    }
    return nil
  }

  /// Returns the index of the next line ending, or the end.
  private func endOfLine(from start: Int) -> Int {
    body.withUnsafeBufferPointer { body in
      var index = start
      while index < end, body[index] != UInt8.lineFeed, body[index] != UInt8.carriageReturn {
        index += 1
      }
      return index
    }
  }

  private func content(of text: Range<Int>) -> HLSLine.Content {
    guard body[text.lowerBound] == UInt8(ascii: "#") else { return .uri }
    let nameStart = text.lowerBound + 1
    // No known name is longer.
    let limit = Swift.min(text.upperBound, nameStart + 32)
    var nameEnd = nameStart
    while nameEnd < limit, body[nameEnd] != UInt8(ascii: ":") { nameEnd += 1 }
    guard body.hasBytes("EXT", at: nameStart),
      let tag = HLSTag(body, in: nameStart..<nameEnd)
    else { return .comment }
    return .tag(tag, value: Swift.min(nameEnd + 1, text.upperBound)..<text.upperBound)
  }
}

extension UInt8 {
  fileprivate static let lineFeed = UInt8(ascii: "\n")
  fileprivate static let carriageReturn = UInt8(ascii: "\r")

  var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}

extension [UInt8] {
  /// Returns `range` without the spaces and tabs at both ends.
  func trimmingBlanks(_ range: Range<Int>) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, self[start].isBlank { start += 1 }
    while start < end, self[end - 1].isBlank { end -= 1 }
    return start..<end
  }

  func hasBytes(_ text: StaticString, at start: Int) -> Bool {
    guard start >= 0, count - start >= text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { buffer in
      for index in 0..<buffer.count where self[start + index] != buffer[index] { return false }
      return true
    }
  }

  func hasBytes(_ bytes: [UInt8], at start: Int) -> Bool {
    guard start >= 0, count - start >= bytes.count else { return false }
    for index in bytes.indices where self[start + index] != bytes[index] { return false }
    return true
  }
}
