// SPDX-License-Identifier: MIT
import Foundation

/// Reads an HLS playlist line by line, and follows its definitions of variables.
struct HLSReader {
  let body: [UInt8]
  private var lines: HLSLines
  private(set) var variables: HLSVariables

  /// Nil if the body does not begin with `#EXTM3U`, after a byte order mark and blanks. Any text
  /// may follow on that line, as in hls.js.
  ///
  /// - Parameters:
  ///   - url: the URL of the response, with the parameters that QUERYPARAM names.
  ///   - imported: the variables of the multivariant playlist, which IMPORT names.
  init?(_ body: [UInt8], url: URL, imported: [String: String] = [:]) {
    guard let start = Self.start(of: body) else { return nil }
    self.body = body
    lines = HLSLines(body, in: start..<body.count)
    variables = HLSVariables(url: url, imported: imported)
  }

  /// Returns the index of `#EXTM3U`; nil if the body is no playlist.
  static func start(of body: [UInt8]) -> Int? {
    var start = body.hasBytes("\u{FEFF}", at: 0) ? 3 : 0
    while start < body.count, body[start].isBlank || body[start] == 0x0A || body[start] == 0x0D {
      start += 1
    }
    return body.hasBytes("#EXTM3U", at: start) ? start : nil
  }

  mutating func next() -> HLSLine? {
    let line = lines.next()
    if case .tag(.define, let value)? = line?.content {
      variables.define(attributes(value), in: body)
    }
    return line
  }

  func attributes(_ value: Range<Int>) -> HLSAttributes { HLSAttributes(body, in: value) }

  /// Whether a text was left out because it is too long.
  var isIncomplete: Bool { variables.isIncomplete }

  /// Returns a text with its variables substituted; nil if it is too long or empty.
  mutating func text(_ range: Range<Int>) -> String? {
    range.isEmpty ? nil : variables.text(of: range, in: body)
  }

  /// Returns the value of an attribute as text; nil if the attribute is missing or empty.
  mutating func text(_ name: String, in attributes: HLSAttributes) -> String? {
    attributes.first(name).flatMap { text($0.value) }
  }

  /// Returns the bytes of an attribute's value.
  func bytes(_ name: String, in attributes: HLSAttributes) -> ArraySlice<UInt8>? {
    attributes.first(name).map { body[$0.value] }
  }

  /// Whether an attribute is YES.
  func flag(_ name: String, in attributes: HLSAttributes) -> Bool {
    bytes(name, in: attributes)?.elementsEqual("YES".utf8) ?? false
  }

  /// Returns the key of EXT-X-KEY or EXT-X-SESSION-KEY.
  mutating func key(_ attributes: HLSAttributes) -> HLSKey {
    HLSKey(
      method: text("METHOD", in: attributes) ?? "NONE", uri: text("URI", in: attributes),
      keyFormat: text("KEYFORMAT", in: attributes) ?? "identity")
  }
}

/// A key of an HLS stream (RFC 8216 §4.3.2.4).
package struct HLSKey: Sendable, Hashable {
  /// `AES-128`, `SAMPLE-AES`, `NONE`, …
  package var method: String
  package var uri: String?
  /// `identity` where the playlist does not state a format: the resource is the key itself.
  package var keyFormat: String
}
