// SPDX-License-Identifier: MIT
import Foundation

/// A client's cache directives: Cache-Control of a request (RFC 9111 §5.2.1), or Pragma if there is
/// none (§5.4). Unknown directives and invalid numbers are ignored; a number may be quoted, as RFC
/// 9111 §5.2 suggests.
package struct RequestDirectives: Sendable, Hashable {
  package var noCache = false
  package var noStore = false
  package var onlyIfCached = false
  /// In seconds; the smallest of several.
  package var maxAge: Int64?
  /// In seconds, the smallest of several; `Int64.max` without a number.
  package var maxStale: Int64?
  /// In seconds; the greatest of several.
  package var minFresh: Int64?

  package init() {}

  package init(_ fields: HeaderFields) {
    guard let value = fields["Cache-Control"] else {
      let pragma = fields["Pragma"]?.split(separator: ",") ?? []
      noCache = pragma.contains { $0.trimmingOWS.lowercased() == "no-cache" }
      return
    }
    for directive in CacheDirective.all(in: value) {
      apply(directive.name, directive.argument)
    }
  }

  private mutating func apply(_ name: String, _ argument: String?) {
    switch name {
    case "no-cache": noCache = true
    case "no-store": noStore = true
    case "only-if-cached": onlyIfCached = true
    case "max-age":
      guard let seconds = Self.seconds(argument) else { return }
      maxAge = min(maxAge ?? seconds, seconds)
    case "min-fresh":
      guard let seconds = Self.seconds(argument) else { return }
      minFresh = max(minFresh ?? seconds, seconds)
    case "max-stale":
      guard let seconds = argument == nil ? .max : Self.seconds(argument) else { return }
      maxStale = min(maxStale ?? seconds, seconds)
    default: break
    }
  }

  private static func seconds(_ argument: String?) -> Int64? {
    argument.flatMap { Int64(saturatingDigits: $0, at: CacheControl.longest) }
  }

  /// Whether the client wants no response older than it says.
  var limitsAge: Bool { noCache || maxAge != nil || minFresh != nil }

  /// Returns whether a stored response may be used without asking the origin.
  func accept(_ freshness: Freshness, at now: Date) -> Bool {
    if noCache { return false }
    if let maxAge, freshness.age(at: now) > Double(maxAge) { return false }
    let remaining = freshness.remaining(at: now)
    if let minFresh, remaining < Double(minFresh) { return false }
    if remaining > 0 { return true }
    guard let maxStale, freshness.isOutdated != true, !freshness.mustRevalidate else {
      return false
    }
    // The next version of an ongoing document exists already.
    switch freshness.pace {
    case .every, .unread: return false
    case .complete, .unstated, nil: break
    }
    return -remaining <= Double(maxStale)
  }
}
