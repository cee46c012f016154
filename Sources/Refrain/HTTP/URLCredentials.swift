// SPDX-License-Identifier: MIT
package import Foundation

extension URL {
  /// The URL without `user:password@`: as it may be asked for, written down and shown.
  package var withoutUserInfo: URL {
    var reference = URIReference(absoluteString)
    guard reference.removeUserInfo() != nil else { return self }
    let text = reference.textWithoutFragment + (reference.fragment.map { "#" + $0 } ?? "")
    // It stays a URL, for user information is optional (RFC 3986 §3.2); were it none, better one
    // that nothing can be asked of than a password where it does not belong.
    return URL(string: text, encodingInvalidCharacters: false) ?? URL(filePath: "/")
  }

  /// What `user:password@` stands for in a request: the value of Authorization (RFC 7617). Nil where
  /// the URL names no user.
  var basicAuthorization: String? {
    var reference = URIReference(absoluteString)
    guard let userInfo = reference.removeUserInfo(), !userInfo.isEmpty, userInfo != ":" else {
      return nil
    }
    var bytes = Self.percentDecoded(userInfo)
    if !userInfo.contains(":") { bytes.append(UInt8(ascii: ":")) }
    return "Basic " + Data(bytes).base64EncodedString()
  }

  /// Bytes, for a password need not be UTF-8. A `%` that encodes nothing stands for itself.
  private static func percentDecoded(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
      guard byte == UInt8(ascii: "%"), digits.count == 2 else {
        bytes.append(byte)
        continue
      }
      bytes.append(UInt8(digits[0] << 4 | digits[1]))
      rest = rest.dropFirst(2)
    }
    return bytes
  }
}

extension URIReference {
  /// - Returns: what stood before the `@`; nil where there is none.
  mutating func removeUserInfo() -> String? {
    guard let whole = authority, let at = whole.lastIndex(of: "@") else { return nil }
    authority = String(whole[whole.index(after: at)...])
    return String(whole[..<at])
  }
}
