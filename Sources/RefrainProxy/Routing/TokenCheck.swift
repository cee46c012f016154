// SPDX-License-Identifier: MIT
internal import Refrain

/// The unguessable part of a proxy's URLs.
enum TokenCheck {
  /// Whether the text is the token, in a time that does not reveal how much of it is right.
  static func isEqual(_ text: some StringProtocol, to token: String) -> Bool {
    let expected = Array(token.utf8)
    guard !expected.isEmpty else { return false }
    var difference: UInt8 = text.utf8.count == expected.count ? 0 : 1
    for (index, byte) in text.utf8.enumerated() {
      difference |= byte ^ expected[index % expected.count]
    }
    return difference == 0
  }

  /// Whether it can be a token: at least 16 characters that a URL never encodes (RFC 3986 §2.3),
  /// and not only dots.
  static func isValid(_ token: String) -> Bool {
    guard token.utf8.count >= 16, token.utf8.contains(where: { $0 != UInt8(ascii: ".") }) else {
      return false
    }
    return token.utf8.allSatisfy(\.isUnreserved)
  }

  /// Returns a new token of 192 random bits.
  static func random() -> String {
    var generator = SystemRandomNumberGenerator()
    return random(using: &generator)
  }

  static func random(using generator: inout some RandomNumberGenerator) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    let bytes = (0..<32).map { _ in alphabet[Int(generator.next() & 63)] }
    return String(decoding: bytes, as: UTF8.self)
  }
}
