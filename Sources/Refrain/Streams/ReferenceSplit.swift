// SPDX-License-Identifier: MIT

/// Splits references into a beginning, which ends with a slash or is empty, and a rest that every
/// reader of URIs takes alike.
enum ReferenceSplit {
  /// Returns the length of the beginning; nil if there is no such rest.
  ///
  /// - Parameter keepsPaths: whether the beginning may be that of the whole path, and not only the
  ///   directory.
  static func endOfBeginning(_ text: UnsafeBufferPointer<UInt8>, keepsPaths: Bool) -> Int? {
    if keepsPaths, let root = endOfRoot(text), isPlain(text, from: root) { return root }
    let directory = endOfDirectory(text)
    // Behind two slashes is a host.
    let isHost = directory > 1 && text[directory - 2] == UInt8(ascii: "/")
    return !isHost && isPlain(text, from: directory) ? directory : nil
  }

  /// Returns the index behind the slash with which the path begins, or 0 if the path is relative.
  private static func endOfRoot(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
    var index = 0
    if hasBytes(text, "https://") {
      index = 8
    } else if hasBytes(text, "http://") {
      index = 7
    } else if hasBytes(text, "//") {
      index = 2
    } else {
      return hasBytes(text, "/") ? 1 : 0
    }
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "/"): return index + 1
      case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\"): return nil
      default: index += 1
      }
    }
    return nil
  }

  /// Returns the index behind the last slash of the path; 0 if there is none.
  private static func endOfDirectory(_ text: UnsafeBufferPointer<UInt8>) -> Int {
    var end = 0
    for index in text.indices {
      switch text[index] {
      case UInt8(ascii: "/"): end = index + 1
      case UInt8(ascii: "?"), UInt8(ascii: "#"): return end
      default: break
      }
    }
    return end
  }

  /// Whether the rest of a path, with its query, is the same for every reader of URIs: it has names
  /// that do not begin with a dot, and no byte that anything decodes, encodes or cuts.
  private static func isPlain(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
    var index = start
    var isNameEmpty = true
    // A scheme begins with a letter, and contains no slash.
    var mayEndScheme = start == 0 && text.first.map(isLetter) == true
    while index < text.count {
      let byte = text[index]
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: "."):
        guard !isNameEmpty else { return false }
        isNameEmpty = byte == UInt8(ascii: "/")
        if isNameEmpty { mayEndScheme = false }
      case UInt8(ascii: ":"):
        guard !mayEndScheme else { return false }
        isNameEmpty = false
      case UInt8(ascii: "?"):
        return !isNameEmpty && isPlainQuery(text, from: index + 1)
      case UInt8(ascii: "%"):
        guard let byte = encoded(text, at: index), isPlainDecoded(byte) else { return false }
        isNameEmpty = false
      default:
        guard isPlainCharacter(byte) else { return false }
        isNameEmpty = false
      }
      index += 1
    }
    return !isNameEmpty
  }

  private static func isPlainQuery(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
    for index in start..<text.count {
      switch text[index] {
      // A colon ends no scheme behind a question mark.
      case UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "?"), UInt8(ascii: ":"): continue
      case UInt8(ascii: "%"):
        guard let byte = encoded(text, at: index), byte != UInt8(ascii: ".") else { return false }
      default: guard isPlainCharacter(text[index]) else { return false }
      }
    }
    return true
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }

  /// Whether a byte is one of the letters and digits and `!$&'()*+,-;=@_~`.
  private static func isPlainCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x61...0x7A, 0x30...0x39, 0x41...0x5A, 0x21, 0x24, 0x26...0x2D, 0x3B, 0x3D, 0x40, 0x5F,
      0x7E:
      true
    default: false
    }
  }

  /// Returns the byte that is percent-encoded at an index; nil if there is none.
  private static func encoded(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt8? {
    guard index + 2 < text.count, let high = text[index + 1].hexadecimalValue,
      let low = text[index + 2].hexadecimalValue
    else { return nil }
    return high << 4 | low
  }

  /// Whether a byte is none of those that some reader decodes before it splits a path.
  private static func isPlainDecoded(_ byte: UInt8) -> Bool {
    switch byte {
    case 0..<0x20, UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "\\"), 0x7F: false
    default: true
    }
  }

  private static func hasBytes(
    _ text: UnsafeBufferPointer<UInt8>, _ prefix: StaticString
  ) -> Bool {
    guard text.count >= prefix.utf8CodeUnitCount else { return false }
    return prefix.withUTF8Buffer { prefix in
      prefix.indices.allSatisfy { text[$0] == prefix[$0] }
    }
  }
}
