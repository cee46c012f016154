// SPDX-License-Identifier: MIT

/// Values that clients put in place of the identifiers in templates of URLs (ISO/IEC 23009-1
/// §5.3.9.4.4), such as the `id` of a Representation. A value that is no name but `../..` would
/// lead to another directory than the template shows, and some players take even the numbers of an
/// MPD as text.
enum DASHTemplateValue {
  private static let longestScheme = 5

  /// Returns a value in place of one that could lead to another directory; nil if a value cannot.
  ///
  /// It cannot if it is empty, or each of its names between slashes has another character than a
  /// dot: a segment with such a name in it is no dot segment, whatever else is in it.
  static func replacement(for value: String) -> String? {
    let bytes = Array(value.utf8)
    guard !bytes.isEmpty, !isSafe(bytes) else { return nil }
    let isDots = bytes.allSatisfy { $0 == UInt8(ascii: ".") }
    return String(
      decoding: bytes.map { isDots || isSpecial($0) ? UInt8(ascii: "_") : $0 }, as: UTF8.self)
  }

  private static func isSpecial(_ byte: UInt8) -> Bool {
    switch byte {
    case ...0x20, UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "%"), UInt8(ascii: ":"), 0x7F:
      true
    default: false
    }
  }

  private static func isSafe(_ bytes: [UInt8]) -> Bool {
    guard let first = bytes.first, let last = bytes.last, first != 0x20, last != 0x20 else {
      return false
    }
    var isNameEmpty = true
    var isNameDots = true
    for (index, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "/"):
        // An empty name is a directory too, except the first: the reference would be rooted.
        guard isNameEmpty ? index > 0 : !isNameDots else { return false }
        (isNameEmpty, isNameDots) = (true, true)
        continue
      case UInt8(ascii: "."): break
      case ..<0x20, UInt8(ascii: "\\"), 0x7F: return false
      case UInt8(ascii: "%"):
        guard isPlainEncoding(bytes[(index + 1)...].prefix(2)) else { return false }
        isNameDots = false
      case UInt8(ascii: ":"):
        guard !mayEndScheme(bytes[..<index]) else { return false }
        isNameDots = false
      default: isNameDots = false
      }
      isNameEmpty = false
    }
    // What follows in the template must not begin a name: it could consist of dots.
    return !isNameEmpty && !isNameDots
  }

  /// Whether two characters behind a `%` encode a byte that is no dot.
  private static func isPlainEncoding(_ digits: ArraySlice<UInt8>) -> Bool {
    guard digits.count == 2, let high = digits.first?.hexadecimalValue,
      let low = digits.last?.hexadecimalValue
    else { return false }
    return high << 4 | low != UInt8(ascii: ".")
  }

  /// Whether a text before a colon may be the end of `http` or `https`, whose beginning the template
  /// has: browsers take `http:../x` for a relative reference.
  private static func mayEndScheme(_ text: ArraySlice<UInt8>) -> Bool {
    guard text.count <= longestScheme else { return false }
    let text = String(decoding: text, as: UTF8.self).lowercased()
    return "http".hasSuffix(text) || "https".hasSuffix(text)
  }

  // MARK: Templates

  /// Whether a template may lead to another directory than it shows, although its values are safe.
  static func isUnsafe(template text: String) -> Bool {
    let bytes = text.utf8
    guard bytes.contains(UInt8(ascii: "$")) else { return false }
    var name = Name()
    var rest = bytes[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "?"), UInt8(ascii: "#"): return name.isUnsafe
      case UInt8(ascii: "/"):
        if name.isUnsafe { return true }
        name = Name(isFirst: false)
      case UInt8(ascii: "$"):
        if let end = endOfIdentifier(rest) {
          rest = rest[end...]
          name.addValue()
        } else {
          name.add(byte)
        }
      default: name.add(byte)
      }
    }
    return name.isUnsafe
  }

  /// Returns the index behind the `$` that ends an identifier; nil if there is none.
  private static func endOfIdentifier(_ text: Substring.UTF8View) -> String.Index? {
    for index in text.indices {
      switch text[index] {
      case UInt8(ascii: "$"): return text.index(after: index)
      case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return nil
      default: continue
      }
    }
    return nil
  }

  /// A name of a template's path, between slashes.
  private struct Name {
    private let isFirst: Bool
    private var hasValue = false
    private var hasDots = false
    private var hasOthers = false
    /// The bytes since the last `%`.
    private var sincePercent: Int?
    private var splitsEncoding = false
    /// Whether the text so far may be a part of `http` or `https`.
    private var mayBeScheme = true
    private var mayEndScheme = false

    init(isFirst: Bool = true) { self.isFirst = isFirst }

    mutating func add(_ byte: UInt8) {
      sincePercent = sincePercent.map { $0 + 1 }
      switch byte {
      case UInt8(ascii: "."):
        hasDots = true
        mayBeScheme = false
      case UInt8(ascii: "%"):
        hasOthers = true
        (sincePercent, mayBeScheme) = (0, false)
      default:
        hasOthers = true
        if byte == UInt8(ascii: ":"), isFirst, hasValue, mayBeScheme { mayEndScheme = true }
        if !"htps".utf8.contains(byte | 0x20) { mayBeScheme = false }
      }
    }

    mutating func addValue() {
      hasValue = true
      if let sincePercent, sincePercent < 2 { splitsEncoding = true }
    }

    /// Whether the name is a dot segment with an empty value, or with another one an encoded dot,
    /// or the scheme of a reference that browsers take for a relative one.
    var isUnsafe: Bool {
      hasValue && ((hasDots && !hasOthers) || splitsEncoding || mayEndScheme)
    }
  }
}
