// SPDX-License-Identifier: MIT

/// An attribute of a tag: `NAME=value` or `NAME="value"`.
struct HLSAttribute: Hashable {
  var name: Range<Int>
  /// The bytes of the value, without quotes.
  var value: Range<Int>
  /// Whether a quote stands at each end of the value.
  var isQuoted: Bool
}

/// The attribute list of a tag (RFC 8216 §4.2), in the order of the body.
///
/// Lenient, as players are: blanks around names and values have no meaning, a comma after a quoted
/// value may be missing, and a URI may lack its quotes. A value whose quote does not end is the rest
/// of the list, as in ffmpeg.
struct HLSAttributes: Sequence, IteratorProtocol {
  private let body: [UInt8]
  private let end: Int
  private var position: Int

  /// - Parameter range: the bytes after the colon of the tag; they must lie within the body.
  init(_ body: [UInt8], in range: Range<Int>) {
    self.body = body
    position = range.lowerBound
    end = range.upperBound
  }

  mutating func next() -> HLSAttribute? {
    while position < end {
      if body[position].isBlank || body[position] == UInt8(ascii: ",") {
        position += 1
        continue
      }
      let start = position
      while position < end, body[position] != UInt8(ascii: "="), body[position] != UInt8(ascii: ",")
      {
        position += 1
      }
      // A name without a value has no meaning.
      guard position < end, body[position] == UInt8(ascii: "=") else { continue }
      let name = body.trimmingBlanks(start..<position)
      position += 1
      while position < end, body[position].isBlank { position += 1 }
      if position < end, body[position] == UInt8(ascii: "\"") { return quoted(name) }
      let valueStart = position
      position = index(of: UInt8(ascii: ","))
      let value = body.trimmingBlanks(valueStart..<position)
      return HLSAttribute(name: name, value: value, isQuoted: false)
    }
    return nil
  }

  /// Returns the first attribute of exactly this name.
  func first(_ name: String) -> HLSAttribute? {
    first { self.name(of: $0, is: name) }
  }

  func name(of attribute: HLSAttribute, is name: String) -> Bool {
    body[attribute.name].elementsEqual(name.utf8)
  }

  private mutating func quoted(_ name: Range<Int>) -> HLSAttribute {
    position += 1
    let start = position
    let valueEnd = index(of: UInt8(ascii: "\""))
    let isQuoted = valueEnd < end
    position = isQuoted ? valueEnd + 1 : end
    return HLSAttribute(name: name, value: start..<valueEnd, isQuoted: isQuoted)
  }

  /// Returns the next index of `byte`, or the end.
  private func index(of byte: UInt8) -> Int {
    var index = position
    while index < end, body[index] != byte { index += 1 }
    return index
  }
}
