// SPDX-License-Identifier: MIT
internal import Refrain

/// A client's cache directives: Cache-Control of a request (RFC 9111 §5.2.1), or Pragma if there is
/// none (§5.4). Unknown directives and invalid numbers are ignored; a number may be quoted, as RFC
/// 9111 §5.2 suggests.
struct RequestDirectives: Sendable, Hashable {
  enum Staleness: Sendable, Hashable {
    case any
    /// Stale by no more than this many seconds.
    case upTo(Int64)
  }

  var noCache = false
  var noStore = false
  var onlyIfCached = false
  /// In seconds; the smallest of several.
  var maxAge: Int64?
  var maxStale: Staleness?
  /// In seconds; the greatest of several.
  var minFresh: Int64?

  /// The maximum; greater numbers of seconds are reduced to it (RFC 9111 §1.2.2).
  private static let longest: Int64 = 1 << 31

  init(_ fields: HeaderFields) {
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
      guard let argument else {
        maxStale = maxStale ?? .any
        return
      }
      guard let seconds = Self.seconds(argument) else { return }
      if case .upTo(let other) = maxStale {
        maxStale = .upTo(min(other, seconds))
      } else {
        maxStale = .upTo(seconds)
      }
    default: break
    }
  }

  private static func seconds(_ argument: String?) -> Int64? {
    argument.flatMap { Int64(saturatingDigits: $0, at: longest) }
  }
}
