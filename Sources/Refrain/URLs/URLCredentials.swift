// SPDX-License-Identifier: MIT
package import Foundation

extension URL {
  /// The URL without `user:password@`, for requests, records and messages.
  package var withoutUserInfo: URL {
    var reference = URIReference(absoluteString)
    guard reference.removeUserInfo() != nil else { return self }
    let text = reference.textWithoutFragment + (reference.fragment.map { "#" + $0 } ?? "")
    // The text stays a URL, since user information is optional (RFC 3986 §3.2); if it did not, a
    // useless URL would be better than a leaked password.
    return URL(string: text, encodingInvalidCharacters: false) ?? URL(filePath: "/")
  }

  /// The value of Authorization for `user:password@` in a request (RFC 7617). Nil if the URL
  /// names no user.
  package var basicAuthorization: String? {
    var reference = URIReference(absoluteString)
    guard let userInfo = reference.removeUserInfo(), !userInfo.isEmpty, userInfo != ":" else {
      return nil
    }
    var bytes = Self.percentDecoded(userInfo.utf8[...])
    if !userInfo.contains(":") { bytes.append(UInt8(ascii: ":")) }
    return "Basic " + Data(bytes).base64EncodedString()
  }

  /// Returns bytes, since a password need not be UTF-8. A `%` that encodes nothing is literal.
  static func percentDecoded(_ text: Substring.UTF8View) -> [UInt8] {
    guard text.contains(UInt8(ascii: "%")) else { return Array(text) }
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap(\.hexadecimalValue)
      guard byte == UInt8(ascii: "%"), digits.count == 2 else {
        bytes.append(byte)
        continue
      }
      bytes.append(digits[0] << 4 | digits[1])
      rest = rest.dropFirst(2)
    }
    return bytes
  }
}
