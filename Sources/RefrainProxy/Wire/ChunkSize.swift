// SPDX-License-Identifier: MIT

/// `chunk-size [ chunk-ext ]` (RFC 9112 §7.1): only hexadecimal digits before the end or the first
/// extension. No sign, no `0x`, no white space, which other programs might read differently.
enum ChunkSize {
  /// - Parameter line: without its CRLF.
  static func read(_ line: UnsafeRawBufferPointer) throws(HTTPError) -> Int64 {
    var size: Int64 = 0
    var index = 0
    while index < line.count, let digit = line[index].hexadecimalValue {
      // A further digit still fits, and no body is that long.
      guard size < 1 << 55 else { throw HTTPError(400, "A chunk size is too large.") }
      size = size << 4 | Int64(digit)
      index += 1
    }
    guard index > 0, index == line.count || line[index] == UInt8(ascii: ";"),
      line.part(index..<line.count).allSatisfy(\.isValueByte)
    else { throw HTTPError(400, "A chunk does not begin with its size.") }
    return size
  }
}
