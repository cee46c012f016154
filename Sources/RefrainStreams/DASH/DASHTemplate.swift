// SPDX-License-Identifier: MIT
import Refrain

/// A template of URLs (ISO/IEC 23009-1 §5.3.9.4.4): `$RepresentationID$/$Number%05d$.m4s`.
struct DASHTemplate: Sendable {
  /// The values of one segment.
  struct Values {
    var id: String
    var bandwidth: Int64
    var number: Int64
    /// Nil if the segments have no timeline.
    var time: Int64?
  }

  private enum Identifier: String {
    case id = "RepresentationID"
    case bandwidth = "Bandwidth"
    case number = "Number"
    case time = "Time"
  }

  private enum Piece {
    case text(String)
    /// - Parameter width: the least number of digits.
    case value(Identifier, width: Int)
  }

  private static let longest = 4096
  /// No number of 64 bits has more digits.
  private static let widest = 20

  private var pieces: [Piece] = []

  init(_ text: String) throws(DASHProblem) {
    guard text.utf8.count <= Self.longest else { throw .hasLongURLs }
    // Text and identifiers alternate.
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count % 2 == 1 else { throw Self.unknown(text[...]) }
    for (index, part) in parts.enumerated() {
      if index % 2 == 0 {
        if !part.isEmpty { pieces.append(.text(String(part))) }
      } else {
        pieces.append(part.isEmpty ? .text("$") : try Self.value(part))
      }
    }
  }

  /// Reads `Number%05d`.
  private static func value(_ text: Substring) throws(DASHProblem) -> Piece {
    let name = text.prefix { $0 != "%" }
    let format = text[name.endIndex...]
    guard let identifier = Identifier(rawValue: String(name)) else { throw unknown(text) }
    if format.isEmpty { return .value(identifier, width: 1) }
    guard identifier != .id, format.hasPrefix("%0"), format.hasSuffix("d"),
      let width = Int64(digits: format.dropFirst().dropLast()), width <= widest
    else { throw unknown(text) }
    return .value(identifier, width: Int(width))
  }

  /// Whether segments have different URLs.
  var isOfSegments: Bool {
    pieces.contains { piece in
      guard case .value(let identifier, _) = piece else { return false }
      return identifier == .number || identifier == .time
    }
  }

  func text(_ values: Values) throws(DASHProblem) -> String {
    var result = ""
    for piece in pieces {
      switch piece {
      case .text(let text): result += text
      case .value(.id, _): result += values.id
      case .value(.bandwidth, let width): result += Self.padded(values.bandwidth, width)
      case .value(.number, let width): result += Self.padded(values.number, width)
      case .value(.time, let width):
        guard let time = values.time else {
          throw DASHProblem(reason: "its segments are named by times, but it states none.")
        }
        result += Self.padded(time, width)
      }
      guard result.utf8.count <= Self.longest else { throw .hasLongURLs }
    }
    return result
  }

  private static func padded(_ value: Int64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  private static func unknown(_ text: Substring) -> DASHProblem {
    DASHProblem(reason: "its manifest has an unknown template of URLs: \(text.prefix(100))")
  }
}

/// Templates and values that could lead to another directory than the template shows: a value that
/// is no name but `../..`, or one that completes a `..`. Some players take even the numbers of an MPD
/// as text.
extension DASHTemplate {
  private static let slash = UInt8(ascii: "/")
  private static let dot = UInt8(ascii: ".")

  /// Returns a value in place of one that could lead to another directory; nil if a value cannot.
  ///
  /// It cannot if it is empty, or each of its names between slashes has another character than a
  /// dot: a segment with such a name in it is no dot segment, whatever else is in it.
  static func replacement(for value: String) -> String? {
    let bytes = Array(value.utf8)
    guard !bytes.isEmpty, !isSafe(bytes) else { return nil }
    let isDots = bytes.allSatisfy { $0 == dot }
    return String(
      decoding: bytes.map { isDots || isSpecial($0) ? UInt8(ascii: "_") : $0 }, as: UTF8.self)
  }

  private static func isSpecial(_ byte: UInt8) -> Bool {
    switch byte {
    case ...0x20, slash, UInt8(ascii: "\\"), UInt8(ascii: "%"), UInt8(ascii: ":"), 0x7F: true
    default: false
    }
  }

  private static func isSafe(_ value: [UInt8]) -> Bool {
    let names = value.split(separator: slash, omittingEmptySubsequences: false)
    // An empty name is a directory too, except the first: the reference would be rooted. What follows
    // in the template must not begin a name: it could consist of dots.
    guard names.first?.isEmpty == false, names.last?.isEmpty == false, value.first != 0x20,
      value.last != 0x20
    else { return false }
    guard names.allSatisfy({ $0.isEmpty || $0.contains { $0 != dot } }) else { return false }
    return value.indices.allSatisfy { index in
      switch value[index] {
      case ..<0x20, UInt8(ascii: "\\"), 0x7F: false
      case UInt8(ascii: "%"): isPlainEncoding(value[(index + 1)...].prefix(2))
      case UInt8(ascii: ":"): !mayEndScheme(value[..<index])
      default: true
      }
    }
  }

  /// Whether two characters behind a `%` encode a byte that is no dot.
  private static func isPlainEncoding(_ digits: ArraySlice<UInt8>) -> Bool {
    UInt8(hexadecimal: digits).map { $0 != dot } ?? false
  }

  /// Whether a text before a colon may be the end of `http` or `https`, whose beginning the template
  /// has: browsers take `http:../x` for a relative reference.
  private static func mayEndScheme(_ text: ArraySlice<UInt8>) -> Bool {
    guard text.count <= "https".utf8.count else { return false }
    let text = String(decoding: text, as: UTF8.self).lowercased()
    return "http".hasSuffix(text) || "https".hasSuffix(text)
  }

  /// Whether a template may lead to another directory than it shows, although its values are safe.
  static func isUnsafe(_ template: String) -> Bool {
    guard template.utf8.contains(UInt8(ascii: "$")) else { return false }
    let path = template.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    let names = path.split(separator: slash, omittingEmptySubsequences: false)
    return names.indices.contains { isUnsafe(name: names[$0], isFirst: $0 == 0) }
  }

  /// Whether a name of a template's path is a dot segment with an empty value, or with another one an
  /// encoded dot, or the scheme of a reference that browsers take for a relative one.
  private static func isUnsafe(name: Substring.UTF8View, isFirst: Bool) -> Bool {
    var texts: [Substring.UTF8View] = []
    var rest = name
    // Text and identifiers alternate; a last dollar that begins none is text.
    while let start = rest.firstIndex(of: UInt8(ascii: "$")),
      let end = rest[rest.index(after: start)...].firstIndex(of: UInt8(ascii: "$"))
    {
      texts.append(rest[..<start])
      rest = rest[rest.index(after: end)...]
    }
    guard !texts.isEmpty else { return false }
    let splitsEncoding = texts.contains { $0.suffix(2).contains(UInt8(ascii: "%")) }
    let all = (texts + [rest]).flatMap { $0 }
    let isDots = !all.isEmpty && all.allSatisfy { $0 == dot }
    let scheme = all.prefix { $0 != UInt8(ascii: ":") }
    let mayEndScheme =
      isFirst && scheme.count < all.count && scheme.count >= texts[0].count
      && scheme.allSatisfy { "htps".utf8.contains($0 | 0x20) }
    return isDots || splitsEncoding || mayEndScheme
  }
}
