// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Reads an HLS playlist of either kind line by line, and substitutes its variables
/// (draft-pantos-hls-rfc8216bis §4.3, §4.4.2.3) in the texts that are asked for.
struct HLSReader {
  /// The longest text, in bytes. No request has a longer URL.
  static let longestText = 64 << 10
  /// The bytes that values may add to the texts of a playlist: a short line can name a long
  /// variable, so that the length of the body does not limit their sum.
  static let mostAdded = 32 << 20

  private var lines: HLSLines
  private let url: URL
  /// The parameters of the playlist's own query, once a tag has asked for one.
  private lazy var parameters = Self.parameters(of: url)
  private let imported: [String: String]
  /// The variables that the playlist has defined or imported so far.
  private(set) var variables: [String: String] = [:]
  /// The bytes that values may still add to texts.
  private var budget = Self.mostAdded
  /// Whether a text was left out because it is too long, or because all texts together are.
  private(set) var isIncomplete = false

  /// Nil if the body is no playlist (`HLSLines`).
  ///
  /// - Parameters:
  ///   - url: the URL of the response, with the parameters that QUERYPARAM names.
  ///   - imported: the variables of the multivariant playlist, which IMPORT names.
  init?(_ body: [UInt8], url: URL, imported: [String: String] = [:]) {
    guard let lines = HLSLines(playlist: body) else { return nil }
    (self.lines, self.url, self.imported) = (lines, url, imported)
  }

  mutating func next() -> HLSLine? {
    let line = lines.next()
    if case .tag(.define, let value)? = line?.content { define(HLSAttributes(value)) }
    return line
  }

  /// A part of the playlist would play as if the stream ended there.
  ///
  /// - Throws: `MediaCacheError`, if a text was left out.
  func checkCompleteness() throws(MediaCacheError) {
    guard isIncomplete else { return }
    throw MediaCacheError(
      .invalidResponse,
      "\(url.withoutUserInfo.absoluteString) cannot be read: its references, with the values of "
        + "their variables (EXT-X-DEFINE), are too long.",
      remedy: "Play the stream from its origin.")
  }

  /// Follows an EXT-X-DEFINE tag. The first definition of a name remains.
  private mutating func define(_ attributes: HLSAttributes) {
    if let name = attributes["QUERYPARAM"].flatMap({ substituted($0) }) {
      define(name, as: parameters[name])
    } else if let name = attributes["IMPORT"].flatMap({ substituted($0) }) {
      define(name, as: imported[name])
    } else if let name = attributes["NAME"].flatMap({ substituted($0) }) {
      define(name, as: substituted(attributes["VALUE"] ?? []))
    }
  }

  private mutating func define(_ name: String, as value: String?) {
    if variables[name] == nil, let value { variables[name] = value }
  }

  private static func parameters(of url: URL) -> [String: String] {
    let pairs = (URIReference(url.absoluteString).query ?? "").split(separator: "&").map { pair in
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map { $0.removingPercentEncoding ?? String($0) }
      return (sides[0], sides.count == 2 ? sides[1] : "")
    }
    return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the text of a URI or of an attribute's value with its variables substituted; nil if it
  /// is missing, empty or too long (`isIncomplete`). An undefined variable stays as it is spelled.
  ///
  /// Bytes that are not UTF-8 are percent-encoded, so that a request carries the same bytes.
  mutating func text(_ spelling: ArraySlice<UInt8>?) -> String? {
    guard let spelling, !spelling.isEmpty else { return nil }
    return substituted(spelling)
  }

  private mutating func substituted(_ spelling: ArraySlice<UInt8>) -> String? {
    guard spelling.count <= Self.longestText else {
      if !Self.isData(spelling) { isIncomplete = true }
      return nil
    }
    var text: [UInt8] = []
    var copied = spelling.startIndex
    var rest = spelling
    while let brace = rest.firstIndex(of: UInt8(ascii: "{")) {
      rest = rest[(brace + 1)...]
      guard let name = Self.variable(at: rest) else { continue }
      rest = rest[(name.endIndex + 1)...]
      guard let value = variables[String(decoding: name, as: UTF8.self)] else { continue }
      text += spelling[copied..<brace]
      let length = value.utf8.count
      guard length <= budget, text.count + length <= Self.longestText else {
        isIncomplete = true
        return nil
      }
      // Charged even if the text becomes too long later: copies take time.
      budget -= length
      text += value.utf8
      copied = rest.startIndex
    }
    text += spelling[copied...]
    guard text.count <= Self.longestText else {
      isIncomplete = true
      return nil
    }
    return Self.string(text)
  }

  /// Returns the name of the variable whose reference `{$name}` goes on with these bytes.
  private static func variable(at bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard bytes.first == UInt8(ascii: "$") else { return nil }
    let name = bytes.dropFirst().prefix {
      $0.isUnreserved && $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "~")
    }
    return !name.isEmpty && bytes[name.endIndex...].first == UInt8(ascii: "}") ? name : nil
  }

  /// Whether a URL contains the data itself (RFC 2397), which may be long.
  static func isData(_ url: ArraySlice<UInt8>) -> Bool {
    String(decoding: url.prefix(5), as: UTF8.self).lowercased() == "data:"
  }

  private static func string(_ bytes: [UInt8]) -> String {
    String(validating: bytes, as: UTF8.self)
      ?? bytes.map { byte in
        byte < 0x80
          ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
      }.joined()
  }
}
