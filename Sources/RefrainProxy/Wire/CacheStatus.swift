// SPDX-License-Identifier: MIT

/// How the cache handled a request, as the field Cache-Status says it (RFC 9211).
struct CacheStatus: Sendable, Hashable {
  /// Why the request was sent on to the origin (RFC 9211 §2.2).
  enum Forwarded: String, Sendable, Hashable {
    /// The cache was configured not to handle it.
    case bypass
    case method
    /// Nothing was stored of the URL.
    case uriMiss = "uri-miss"
    case varyMiss = "vary-miss"
    case miss
    /// What was stored is stale.
    case stale
    /// Some of the ranges were stored.
    case partial
    /// The request's own directives.
    case request
  }

  /// Answered without the origin; otherwise `forwarded` says why not.
  var forwarded: Forwarded?
  /// What the origin answered, where the client was answered something else.
  var forwardedStatus: Int?
  var isStored = false
  /// The request shared one to the origin with others.
  var isCollapsed = false
  /// Seconds for which the answer stays fresh; negative where it is stale.
  var timeToLive: Int64?
  /// For people.
  var detail: String?

  static let hit = CacheStatus()

  static func forwarded(_ reason: Forwarded, isStored: Bool = false) -> CacheStatus {
    CacheStatus(forwarded: reason, isStored: isStored)
  }

  /// The value of the field: one member of a list (RFC 8941 §3.1).
  var value: String {
    var text = "refrain"
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
    if let detail { text += "; detail=\(Self.quoted(detail))" }
    return text
  }

  /// RFC 8941 §3.3.3: visible ASCII and spaces. Other characters become `?`.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\":
        quoted += "\\"
        quoted.unicodeScalars.append(scalar)
      case " "..."~":
        quoted.unicodeScalars.append(scalar)
      default:
        quoted += "?"
      }
    }
    return quoted + "\""
  }
}
