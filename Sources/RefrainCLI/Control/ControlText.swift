// SPDX-License-Identifier: MIT

/// A line of text: commands as in mpv's input.conf, `seek 10 ; set volume 50` (mpv(1), "Flat command
/// syntax"). A pure value.
struct ControlText: Sendable, Hashable {
  /// The words of each command, without their quotes. Each word is a text.
  private(set) var commands: [[ControlValue]] = []

  /// Splits a line into words.
  ///
  /// - Throws: for a quote without an end, an unknown escape, and bytes that are not UTF-8.
  init(_ line: some Collection<UInt8>) throws(ControlRefusal) {
    var rest = Array(line)[...]
    var words: [ControlValue] = []
    while true {
      rest = rest.drop(while: Self.isSpace)
      guard let first = rest.first, first != UInt8(ascii: "#") else { break }
      guard first != UInt8(ascii: ";") else {
        if !words.isEmpty { commands.append(words) }
        words = []
        rest = rest.dropFirst()
        continue
      }
      words.append(.string(try Self.word(&rest)))
    }
    if !words.isEmpty { commands.append(words) }
  }

  private static func refusal(_ text: String) -> ControlRefusal {
    ControlRefusal(.invalidParameter, text)
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }

  private static func isEnd(_ byte: UInt8) -> Bool {
    isSpace(byte) || byte == UInt8(ascii: ";") || byte == UInt8(ascii: "#")
  }

  /// Removes the word at the beginning, which has at least one byte.
  private static func word(_ rest: inout ArraySlice<UInt8>) throws(ControlRefusal) -> String {
    let bytes: [UInt8]
    switch rest.first {
    case UInt8(ascii: "\""): bytes = try escaped(&rest)
    case UInt8(ascii: "'"): bytes = try literal(&rest, mark: 1)
    case UInt8(ascii: "`"): bytes = try literal(&rest, mark: 2)
    default:
      bytes = Array(rest.prefix { !isEnd($0) })
      rest = rest.dropFirst(bytes.count)
    }
    guard rest.first.map(isEnd) ?? true else {
      throw refusal("After a quote, a space separates the next word.")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw refusal("A line is UTF-8.")
    }
    return text
  }

  /// Reads what is taken as it is: `'text'`, or "`-text-`" with any character in place of the dash.
  ///
  /// - Parameter mark: the length of the quote, which ends with its bytes in reverse order.
  private static func literal(
    _ rest: inout ArraySlice<UInt8>, mark: Int
  ) throws(ControlRefusal) -> [UInt8] {
    let end = Array(rest.prefix(mark).reversed())
    var text: [UInt8] = []
    rest = rest.dropFirst(mark)
    while end.count == mark, let byte = rest.first {
      if rest.starts(with: end) {
        rest = rest.dropFirst(mark)
        return text
      }
      text.append(byte)
      rest = rest.dropFirst()
    }
    throw refusal("A quote has no end.")
  }

  // MARK: Escapes

  /// Reads `"text"` with the escapes of JSON (RFC 8259 §7), except surrogate pairs.
  private static func escaped(_ rest: inout ArraySlice<UInt8>) throws(ControlRefusal) -> [UInt8] {
    var text: [UInt8] = []
    rest = rest.dropFirst()
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return text
      case UInt8(ascii: "\\"): text += try escape(&rest)
      default: text.append(byte)
      }
    }
    throw refusal("A quote has no end.")
  }

  /// Reads what follows a backslash.
  private static func escape(_ rest: inout ArraySlice<UInt8>) throws(ControlRefusal) -> [UInt8] {
    let letter = rest.popFirst() ?? 0
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "'"):
      return [letter]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "e"): return [0x1B]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "x"):
      if let byte = hexadecimal(&rest, digits: 2) { return [UInt8(truncatingIfNeeded: byte)] }
    case UInt8(ascii: "u"):
      if let code = hexadecimal(&rest, digits: 4), let scalar = Unicode.Scalar(code) {
        return Array(String(Character(scalar)).utf8)
      }
    default: break
    }
    throw refusal("A backslash is written \\\\ within \"quotes\".")
  }

  /// Reads hexadecimal digits.
  private static func hexadecimal(_ rest: inout ArraySlice<UInt8>, digits: Int) -> UInt32? {
    let text = rest.prefix(digits)
    rest = rest.dropFirst(digits)
    guard text.count == digits else { return nil }
    var number: UInt32 = 0
    for byte in text {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
      number = number * 16 + UInt32(digit)
    }
    return number
  }
}
