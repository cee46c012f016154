// SPDX-License-Identifier: MIT
import RegexBuilder

/// The directives of a response's Cache-Control that the cache acts upon (RFC 9111 §5.2.2). Unknown
/// ones are ignored.
package struct CacheControl: Sendable, Hashable {
  var noStore = false
  /// Also true if it names fields (`no-cache="Set-Cookie"`): an unnecessary request is harmless.
  var noCache = false
  /// Applies to shared caches. Also true if it names fields: storing too little is harmless.
  var isPrivate = false
  /// Whether a shared cache may store the response even if it needed credentials.
  var isPublic = false
  var mustRevalidate = false
  /// As `mustRevalidate`, for a shared cache.
  var proxyRevalidate = false
  /// RFC 8246.
  var immutable = false
  /// In seconds. The first of several; zero if it is no number (RFC 9111 §4.2.1).
  var maxAge: Int64?
  /// As `maxAge`, for a shared cache, which prefers it.
  var sharedMaxAge: Int64?
  /// How long a stale response may be used while the origin responds with errors or not at all, in
  /// seconds (RFC 5861 §4).
  var staleIfError: Int64?
  /// How long a stale response may be used while it is being confirmed, in seconds (RFC 5861 §3).
  var staleWhileRevalidate: Int64?
  /// Whether `noStore` applies only to caches that do not know what the status requires of them
  /// (RFC 9111 §5.2.2.3).
  var mustUnderstand = false

  /// The largest number of seconds; larger ones are reduced to it (RFC 9111 §1.2.2).
  package static let longest: Int64 = 1 << 31

  init() {}

  init(_ value: String?) {
    for directive in CacheDirective.all(in: value ?? "") {
      apply(directive.name, directive.argument)
    }
  }

  /// Parses the directives for shared caches, which override those for all caches (RFC 9213 §2.2).
  ///
  /// - Returns: nil if there are none, or they violate the syntax, which is strict (§2.1).
  init?(targetedBy headers: HeaderFields) {
    guard let value = headers["CDN-Cache-Control"], let members = Self.members(of: value),
      !members.isEmpty
    else { return nil }
    // A name alone is true. What is no number of seconds, such as a negative one, counts as zero.
    for (name, value) in members where value != "?0" {
      apply(name, value == "?1" ? nil : value.map { String($0) })
    }
  }

  /// Whether a response with this status must not be stored (RFC 9111 §5.2.2.3, §5.2.2.5).
  func forbidsStoring(status: Int) -> Bool {
    mustUnderstand ? !Self.isUnderstood(status) : noStore
  }

  /// Whether the cache does what a status requires of caches: those of RFC 9110 that it stores or
  /// follows.
  private static func isUnderstood(_ status: Int) -> Bool {
    Freshness.isHeuristicallyCacheable(status) || [302, 303, 307].contains(status)
  }

  /// Whether shared caches may give the response to everybody, whoever requested it.
  var isForEverybody: Bool { isPublic || sharedMaxAge != nil }

  /// Whether a response with these fields is for everybody, as shared caches read them.
  package static func isForEverybody(_ headers: HeaderFields) -> Bool {
    forSharedCaches(headers).isForEverybody
  }

  static func forSharedCaches(_ headers: HeaderFields) -> CacheControl {
    CacheControl(targetedBy: headers) ?? CacheControl(headers["Cache-Control"])
  }

  private mutating func apply(_ name: String, _ argument: String?) {
    switch name {
    case "no-store": noStore = true
    case "no-cache": noCache = true
    case "private": isPrivate = true
    case "public": isPublic = true
    case "must-revalidate": mustRevalidate = true
    case "proxy-revalidate": proxyRevalidate = true
    case "immutable": immutable = true
    case "must-understand": mustUnderstand = true
    case "max-age": maxAge = maxAge ?? Self.seconds(argument)
    case "s-maxage": sharedMaxAge = sharedMaxAge ?? Self.seconds(argument)
    case "stale-if-error": staleIfError = staleIfError ?? Self.seconds(argument)
    case "stale-while-revalidate":
      staleWhileRevalidate = staleWhileRevalidate ?? Self.seconds(argument)
    default: break
    }
  }

  private static func seconds(_ argument: String?) -> Int64 {
    Int64(saturatingDigits: (argument ?? "").trimmingOWS, at: longest) ?? 0
  }

  /// Returns the members of a Dictionary of structured fields (RFC 8941 §3.2), parsed strictly by
  /// §4.2.2; nil if any part of the text violates the syntax. Of several members with one name, the
  /// last counts. Parameters and the contents of inner lists are checked, but not kept.
  private static func members(of text: String) -> [String: Substring?]? {
    let key = #/[a-z*][a-z0-9_.*\-]*/#
    let item = ChoiceOf {
      // A decimal, an integer.
      #/-?[0-9]{1,12}\.[0-9]{1,3}/#
      #/-?[0-9]{1,15}/#
      // A string, a token, a byte sequence, a Boolean.
      #/"(?:[ !#-\[\]-~]|\\["\\])*"/#
      #/[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:\/\-]*/#
      #/:[A-Za-z0-9+\/=]*:/#
      #/\?[01]/#
    }
    let parameters = ZeroOrMore {
      #/;\x20*/#
      key
      Optionally {
        "="
        item
      }
    }
    let list = Regex {
      #/\(\x20*/#
      ZeroOrMore {
        item
        parameters
        // Spaces separate the items.
        #/\x20+|(?=\))/#
      }
      ")"
    }
    let member = Regex {
      Capture(key)
      Optionally {
        "="
        Capture {
          ChoiceOf {
            item
            list
          }
        }
      }
      parameters
      #/[ \t]*/#
      Capture(#/(?:,[ \t]*)?/#)
    }
    var members: [String: Substring?] = [:]
    var rest = text.drop { $0 == " " }
    while !rest.isEmpty {
      guard let match = rest.prefixMatch(of: member) else { return nil }
      let (_, name, value, comma) = match.output
      members.updateValue(value, forKey: String(name))
      rest = rest[match.range.upperBound...]
      // A comma separates two members.
      guard rest.isEmpty == comma.isEmpty else { return nil }
    }
    return members
  }
}
