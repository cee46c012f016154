// SPDX-License-Identifier: MIT
import Foundation

/// The variables of an HLS playlist (draft-pantos-hls-rfc8216bis §4.3, §4.4.2.3), and the texts in
/// which they are substituted.
struct HLSVariables {
  /// The longest text, in bytes. No request has a longer URL.
  static let longestText = 64 << 10
  /// The bytes that values may add to the texts of a playlist: a short line can name a long
  /// variable, so that the length of the body does not limit their sum.
  static let mostAdded = 32 << 20

  /// The variables that the playlist has defined or imported so far.
  private(set) var values: [String: String] = [:]
  private let imported: [String: String]
  private let url: URL
  /// The parameters of the playlist's own query, once a tag has asked for one.
  private var parameters: [String: String]?
  /// The bytes that values may still add to texts.
  private var budget = Self.mostAdded
  /// Whether a text was left out because it is too long, or because all texts together are.
  private(set) var isIncomplete = false

  init(url: URL, imported: [String: String]) {
    self.url = url
    self.imported = imported
  }

  /// Follows an EXT-X-DEFINE tag. The first definition of a name remains.
  mutating func define(_ attributes: HLSAttributes, in body: [UInt8]) {
    if let name = attributes.first("QUERYPARAM").flatMap({ text(of: $0.value, in: body) }) {
      let parameters = self.parameters ?? Self.parameters(of: url)
      self.parameters = parameters
      set(name, to: parameters[name])
    } else if let name = attributes.first("IMPORT").flatMap({ text(of: $0.value, in: body) }) {
      set(name, to: imported[name])
    } else if let name = attributes.first("NAME").flatMap({ text(of: $0.value, in: body) }) {
      guard let value = attributes.first("VALUE") else { return set(name, to: "") }
      set(name, to: text(of: value.value, in: body))
    }
  }

  private mutating func set(_ name: String, to value: String?) {
    if values[name] == nil, let value { values[name] = value }
  }

  /// Returns the text of a URI or of an attribute with its variables substituted; nil if it is too
  /// long (`isIncomplete`). An undefined variable stays as it is spelled.
  ///
  /// Bytes that are not UTF-8 are percent-encoded, so that a request carries the same bytes.
  mutating func text(of range: Range<Int>, in body: [UInt8]) -> String? {
    guard range.count <= Self.longestText else {
      if !Self.isData(body[range]) { isIncomplete = true }
      return nil
    }
    var result: [UInt8] = []
    var copied = range.lowerBound
    var position = range.lowerBound
    while position < range.upperBound {
      guard body[position] == UInt8(ascii: "{"),
        let reference = reference(at: position, in: body, end: range.upperBound)
      else {
        position += 1
        continue
      }
      if let value = values[String(decoding: body[reference.name], as: UTF8.self)] {
        result += body[copied..<position]
        let length = value.utf8.count
        guard length <= budget, result.count + length <= Self.longestText else {
          isIncomplete = true
          return nil
        }
        // Charged even if the text becomes too long later: copies take time.
        budget -= length
        result += value.utf8
        copied = reference.end
      }
      position = reference.end
    }
    guard copied > range.lowerBound else { return Self.string(body[range]) }
    result += body[copied..<range.upperBound]
    guard result.count <= Self.longestText else {
      isIncomplete = true
      return nil
    }
    return Self.string(result[...])
  }

  /// Whether a URL contains the data itself (RFC 2397), which may be long.
  static func isData(_ url: ArraySlice<UInt8>) -> Bool {
    String(decoding: url.prefix(5), as: UTF8.self).lowercased() == "data:"
  }

  /// Returns the variable reference `{$name}` that begins at `start`.
  private func reference(
    at start: Int, in body: [UInt8], end: Int
  ) -> (name: Range<Int>, end: Int)? {
    guard start + 1 < end, body[start + 1] == UInt8(ascii: "$") else { return nil }
    var position = start + 2
    while position < end, Self.isNameCharacter(body[position]) { position += 1 }
    guard position < end, position > start + 2, body[position] == UInt8(ascii: "}") else {
      return nil
    }
    return (start + 2..<position, position + 1)
  }

  private static func isNameCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
    default: false
    }
  }

  private static func parameters(of url: URL) -> [String: String] {
    guard let query = URIReference(url.absoluteString).query else { return [:] }
    let pairs = query.split(separator: "&").map { pair in
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (decoded(sides[0]), sides.count == 2 ? decoded(sides[1]) : "")
    }
    return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
  }

  private static func decoded(_ text: Substring) -> String {
    text.removingPercentEncoding ?? String(text)
  }

  private static func string(_ bytes: ArraySlice<UInt8>) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    var encoded: [UInt8] = []
    for byte in bytes {
      if byte < 0x80 {
        encoded.append(byte)
      } else {
        encoded.append(UInt8(ascii: "%"))
        encoded += String(byte, radix: 16, uppercase: true).utf8
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
