// SPDX-License-Identifier: MIT

/// An ETag as in the header (RFC 9110 §8.8.3), and its kind by its syntax.
package struct EntityTag: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// `"…"`: the same tag means the same bytes.
    case strong
    /// `W/"…"`: the same tag means bytes that serve the same purpose.
    case weak
    /// Not an entity tag, though servers send such: unquoted, or several. Can be compared verbatim,
    /// but not sent where the origin would have to parse it.
    case malformed
  }

  package var text: String
  package var kind: Kind

  package init(_ text: String) {
    self.text = text
    if Self.isOpaqueTag(text.utf8[...]) {
      kind = .strong
    } else if text.utf8.starts(with: "W/".utf8), Self.isOpaqueTag(text.utf8.dropFirst(2)) {
      kind = .weak
    } else {
      kind = .malformed
    }
  }

  /// The tag without `W/`, for the weak comparison (RFC 9110 §8.8.3.2).
  package var opaque: Substring { kind == .weak ? text.dropFirst(2) : text[...] }

  private static func isOpaqueTag(_ bytes: Substring.UTF8View) -> Bool {
    let quote = UInt8(ascii: "\"")
    guard bytes.count >= 2, bytes.first == quote, bytes.last == quote else { return false }
    return bytes.dropFirst().dropLast().allSatisfy { byte in
      byte == 0x21 || (byte >= 0x23 && byte <= 0x7E) || byte >= 0x80
    }
  }
}
