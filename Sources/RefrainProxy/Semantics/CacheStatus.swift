// SPDX-License-Identifier: MIT
internal import Refrain

/// The cache's handling of a request, as the field Cache-Status reports it (RFC 9211).
struct CacheStatus: Sendable, Hashable {
  /// Why the request was forwarded to the origin (RFC 9211 §2.2).
  enum Forwarded: String, Sendable, Hashable {
    /// The cache was configured not to handle it.
    case bypass
    case method
    /// No response was stored for the URL.
    case uriMiss = "uri-miss"
    case varyMiss = "vary-miss"
    case miss
    /// The stored response is stale.
    case stale
    /// Some of the ranges were stored.
    case partial
    /// The stored response is fresh, and the request's own directives exclude it.
    case request
  }

  /// Why the origin was asked; nil: it was not.
  var forwarded: Forwarded?
  /// The origin's status, if the client received another one.
  var forwardedStatus: Int?
  var isStored = false
  /// Whether the request shared one to the origin with others.
  var isCollapsed = false
  /// Seconds for which the response stays fresh; negative if it is stale.
  var timeToLive: Int64?
  /// A text for people.
  var detail: String?

  /// The cache key of the response.
  var key: String?

  static let hit = CacheStatus()

  static func forwarded(_ reason: Forwarded, isStored: Bool = false) -> CacheStatus {
    CacheStatus(forwarded: reason, isStored: isStored)
  }

  /// Whether a text can name a node here and in Via: a token of RFC 9110 §5.6.2 and of RFC 8941
  /// §3.3.4 alike.
  static func isNodeName(_ text: String) -> Bool {
    text.wholeMatch(of: /[A-Za-z][A-Za-z0-9._-]{0,62}/) != nil
  }

  /// Returns the value of the field: one member of a list (RFC 8941 §3.1).
  ///
  /// - Parameter node: the name of this cache.
  func value(node: String) -> String {
    var text = node
    if let forwarded {
      text += "; fwd=\(forwarded.rawValue)"
      if let forwardedStatus { text += "; fwd-status=\(forwardedStatus)" }
      if isStored { text += "; stored" }
      if isCollapsed { text += "; collapsed" }
    } else {
      text += "; hit"
    }
    if let timeToLive {
      // The integers of RFC 8941 §3.3.1 have fifteen digits.
      let most: Int64 = 999_999_999_999_999
      text += "; ttl=\(min(max(timeToLive, -most), most))"
    }
    if let key { text += Self.parameter(for: key) }
    if let detail { text += "; detail=\(Self.quoted(detail))" }
    return text
  }

  /// Returns the parameter for a key, with its semicolon; an empty text for a key that would make every
  /// response much longer.
  static func parameter(for key: String) -> String {
    key.utf8.count <= longestKey ? "; key=\(quoted(key))" : ""
  }

  private static let longestKey = 512

  /// Returns a string of RFC 8941 §3.3.3: visible ASCII and spaces. Other characters become `?`.
  private static func quoted(_ text: String) -> String {
    let characters = text.unicodeScalars.map { scalar in
      switch scalar {
      case "\"", "\\": "\\\(scalar)"
      case " "..."~": "\(scalar)"
      default: "?"
      }
    }
    return "\"\(characters.joined())\""
  }
}
