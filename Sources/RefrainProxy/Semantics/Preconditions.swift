// SPDX-License-Identifier: MIT
internal import Foundation
internal import Refrain

/// The conditions of a request (RFC 9110 §13.1), evaluated in the order of §13.2.2.
struct Preconditions: Sendable {
  enum Outcome: Sendable {
    case proceed
    /// If-Range names another generation.
    case ignoreRange
    case notModified
  }

  let fields: HeaderFields

  /// Throws 412.
  func evaluate(_ validator: Validator, hasRange: Bool) throws(HTTPError) -> Outcome {
    let failed = HTTPError(412, "The resource does not meet the request's preconditions.")
    let tag = validator.etag.map { EntityTag($0) }
    // A date beside tags is ignored, and so is an invalid one (§13.1.3, §13.1.4). Several fields of
    // a name do not form a date.
    func date(_ value: String?) -> Date? { value.flatMap { HTTPDate.parse($0) } }
    let modified = date(validator.lastModified)
    if let tags = fields["If-Match"] {
      guard Self.list(tags).map({ tag?.kind == .strong && $0.contains { $0 == tag } }) ?? true
      else { throw failed }
    } else if let limit = date(fields["If-Unmodified-Since"]), let modified {
      guard modified <= limit else { throw failed }
    }
    if let tags = fields["If-None-Match"] {
      if Self.list(tags).map({ $0.contains { $0.opaque == tag?.opaque } }) ?? true {
        return .notModified
      }
    } else if let since = date(fields["If-Modified-Since"]), let modified {
      if modified <= since { return .notModified }
    }
    // The same strong tag, or exactly the date, if that is strong (§13.1.5).
    if hasRange, let value = fields["If-Range"]?.trimmingOWS {
      let asked = EntityTag(String(value))
      let isSame =
        switch asked.kind {
        case .strong: tag == asked
        case .weak: false
        case .malformed:
          validator.isStrongLastModified && modified != nil && date(String(value)) == modified
        }
      if !isSame { return .ignoreRange }
    }
    return .proceed
  }

  /// Returns nil for `*`, which matches any existing representation (§13.1.1, §13.1.2). A tag that
  /// contains a comma matches only where it is the only one. An invalid tag, as of servers that omit
  /// the quotes, matches only the same text, and only weakly (§8.8.3.2).
  private static func list(_ value: String) -> [EntityTag]? {
    let value = value.trimmingOWS
    if value == "*" { return nil }
    return (value.split(separator: ",") + [value]).map { EntityTag(String($0.trimmingOWS)) }
  }
}
