// SPDX-License-Identifier: MIT

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

  private enum Piece {
    case text(String)
    case id
    case bandwidth(width: Int)
    case number(width: Int)
    case time(width: Int)
  }

  private static let longest = 4096
  /// No number of 64 bits has more digits.
  private static let widest = 20

  private var pieces: [Piece] = []

  init(_ text: String) throws(DASHProblem) {
    guard text.utf8.count <= Self.longest else { throw Self.isTooLong }
    // Text and identifiers alternate.
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count % 2 == 1 else { throw Self.unknown(text) }
    for (index, part) in parts.enumerated() {
      if index % 2 == 0 {
        if !part.isEmpty { pieces.append(.text(String(part))) }
      } else {
        pieces.append(try Self.piece(part))
      }
    }
  }

  /// Whether segments have different URLs.
  var isOfSegments: Bool {
    pieces.contains { piece in
      switch piece {
      case .number, .time: true
      case .text, .id, .bandwidth: false
      }
    }
  }

  func text(_ values: Values) throws(DASHProblem) -> String {
    var result = ""
    for piece in pieces {
      switch piece {
      case .text(let text): result += text
      case .id: result += values.id
      case .bandwidth(let width): result += Self.padded(values.bandwidth, width)
      case .number(let width): result += Self.padded(values.number, width)
      case .time(let width):
        guard let time = values.time else {
          throw DASHProblem(reason: "its segments are named by times, but it states none.")
        }
        result += Self.padded(time, width)
      }
      guard result.utf8.count <= Self.longest else { throw Self.isTooLong }
    }
    return result
  }

  private static func piece(_ text: Substring) throws(DASHProblem) -> Piece {
    if text.isEmpty { return .text("$") }
    let (name, width) = try split(text)
    switch name {
    case "RepresentationID" where name.endIndex == text.endIndex: return .id
    case "Bandwidth": return .bandwidth(width: width)
    case "Number": return .number(width: width)
    case "Time": return .time(width: width)
    default: throw unknown(String(text.prefix(40)))
    }
  }

  /// Splits `Number%05d` into the name and the least number of digits.
  private static func split(_ text: Substring) throws(DASHProblem) -> (Substring, width: Int) {
    guard let mark = text.firstIndex(of: "%") else { return (text, 1) }
    let format = text[text.index(after: mark)...]
    guard format.hasPrefix("0"), format.hasSuffix("d"),
      let width = Int64(digits: format.dropLast()), width <= widest
    else { throw unknown(String(text.prefix(40))) }
    return (text[..<mark], Int(width))
  }

  private static func padded(_ value: Int64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  private static let isTooLong = DASHProblem(reason: "the URLs of its segments are too long.")

  private static func unknown(_ text: String) -> DASHProblem {
    DASHProblem(reason: "its manifest has an unknown template of URLs: \(text.prefix(100))")
  }
}
