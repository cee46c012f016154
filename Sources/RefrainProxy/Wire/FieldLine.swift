// SPDX-License-Identifier: MIT

/// `field-name ":" OWS field-value OWS` (RFC 9112 §5), strictly.
struct FieldLine {
  var name: Range<Int>
  /// Without surrounding white space.
  var value: Range<Int>

  /// - Parameters:
  ///   - bytes: the bytes that contain the line.
  ///   - line: its range, without its CRLF, not empty.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, _ line: Range<Int>) throws(HTTPError) {
    var index = line.lowerBound
    let end = line.upperBound
    while index < end, bytes[index].isNameByte { index += 1 }
    guard index > line.lowerBound, index < end, bytes[index] == UInt8(ascii: ":") else {
      throw Self.badName(bytes.part(line))
    }
    name = line.lowerBound..<index
    index += 1
    while index < end, bytes[index].isOptionalWhitespace { index += 1 }
    let start = index
    var last = index
    while index < end {
      let byte = bytes[index]
      guard byte.isValueByte else {
        throw HTTPError(400, "The value of a header field contains a control character.")
      }
      index += 1
      if !byte.isOptionalWhitespace { last = index }
    }
    value = start..<last
  }

  private static func badName(_ line: UnsafeRawBufferPointer) -> HTTPError {
    if line.first?.isOptionalWhitespace == true {
      return HTTPError(400, "A header field spans two lines, which HTTP no longer allows.")
    }
    return HTTPError(400, "A header field does not begin with a name and a colon.")
  }
}
