// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The contents of a stream's session, as they are stored.
struct SessionRecord: Sendable, Hashable, Codable {
  struct Header: Sendable, Hashable, Codable {
    var name: String
    var value: String
  }

  var id: String
  /// The URL with which the stream began.
  var url: String
  var headers: [Header]
  var cookies: [CookieJar.Cookie]
  var variables: [String: String]
  var lastUse: Date

  /// The URL; nil if the record is not one that a session can have.
  var validURL: URL? {
    guard ProxyURL.isSession(id), let url = URL(string: url, encodingInvalidCharacters: false),
      WebOrigin(url) != nil, headers.allSatisfy(Self.isValid),
      cookies.allSatisfy(\.pair.isValid)
    else { return nil }
    return url
  }

  private static func isValid(_ header: Header) -> Bool {
    header.name.isToken
      && header.value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
  }

  var fields: HeaderFields { HeaderFields(headers.map { ($0.name, $0.value) }) }
}

/// A session in memory, as `SessionStore` receives it.
struct BegunSession: Sendable {
  var record: SessionRecord
  /// When its stream began here, or when it was read from the file.
  var begun: Uptime
}
