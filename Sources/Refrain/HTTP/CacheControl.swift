// SPDX-License-Identifier: MIT
import Foundation

/// One directive of a Cache-Control field (RFC 9111 §5.2), of a request or a response.
package struct CacheDirective: Sendable, Hashable {
  /// In lower case.
  package var name: String
  /// A token, or a quoted string without its quotes and backslashes (RFC 9110 §5.6.4).
  package var argument: String?

  /// Returns the directives of a field's value, in order. Anything else in it is ignored: an
  /// unterminated string extends to the end, and other text to the next comma.
  package static func all(in value: String) -> [CacheDirective] {
    var directives: [CacheDirective] = []
    var rest = value.utf8.drop(while: \.isOWS)
    while !rest.isEmpty {
      let name = rest.prefix(while: \.isTokenCharacter)
      rest = rest[name.endIndex...].drop(while: \.isOWS)
      var argument: String?
      if rest.first == UInt8(ascii: "=") {
        rest = rest.dropFirst().drop(while: \.isOWS)
        argument = self.argument(from: &rest)
      }
      if !name.isEmpty {
        let name = String(decoding: name, as: UTF8.self).lowercased()
        directives.append(CacheDirective(name: name, argument: argument))
      }
      // Anything else before the next comma is no directive.
      rest = rest.drop { $0 != UInt8(ascii: ",") }.dropFirst().drop(while: \.isOWS)
    }
    return directives
  }

  private static func argument(from rest: inout Substring.UTF8View) -> String {
    guard rest.first == UInt8(ascii: "\"") else {
      let token = rest.prefix { $0 != UInt8(ascii: ",") }
      rest = rest[token.endIndex...]
      return String(String(decoding: token, as: UTF8.self).trimmingOWS)
    }
    rest.removeFirst()
    var bytes: [UInt8] = []
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      guard let byte = byte == UInt8(ascii: "\\") ? rest.popFirst() : byte else { break }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Cache-Control of a response (RFC 9111 §5.2.2): the directives that the cache acts upon.
package struct CacheControl: Sendable, Hashable {
  /// By name; empty if a directive has none.
  private var arguments: [String: String]
  /// Whether these are the directives for shared caches, which override Expires, too.
  var isTargeted = false

  /// The largest number of seconds; larger ones are reduced to it (RFC 9111 §1.2.2).
  package static let longest: Int64 = 1 << 31

  /// - Parameter value: of Cache-Control. The first of several equal directives counts.
  init(_ value: String?) {
    let directives = CacheDirective.all(in: value ?? "").lazy.map { ($0.name, $0.argument ?? "") }
    arguments = Dictionary(directives) { first, _ in first }
  }

  /// - Parameter isShared: whether the directives for shared caches, if there are any, override those
  ///   for all caches (RFC 9213 §2.2). They are read as leniently as Cache-Control.
  init(_ headers: HeaderFields, isShared: Bool) {
    self.init(headers["Cache-Control"])
    var targeted = CacheControl(isShared ? headers["CDN-Cache-Control"] : nil)
    guard !targeted.arguments.isEmpty else { return }
    // There a directive may be false.
    targeted.arguments = targeted.arguments.filter { $0.value != "?0" }
    targeted.isTargeted = true
    // A field that does not parse must be ignored (§2.1): one that states neither a lifetime nor a
    // restriction does not lift those of Cache-Control.
    if targeted.hasLifetime || targeted.isRestricted || !isRestricted { self = targeted }
  }

  /// Whether a response with these fields is for everybody, as shared caches read them.
  package static func isForEverybody(_ headers: HeaderFields) -> Bool {
    CacheControl(headers, isShared: true).isForEverybody
  }

  var noStore: Bool { has("no-store") }
  /// Also true if it names fields (`no-cache="Set-Cookie"`): an unnecessary request is harmless.
  var noCache: Bool { has("no-cache") }
  /// Applies to shared caches. Also true if it names fields: storing too little is harmless.
  var isPrivate: Bool { has("private") }
  /// Whether a shared cache may store the response even if it needed credentials.
  var isPublic: Bool { has("public") }
  var mustRevalidate: Bool { has("must-revalidate") }
  /// As `mustRevalidate`, for a shared cache.
  var proxyRevalidate: Bool { has("proxy-revalidate") }
  /// Whether `noStore` applies only to caches that do not know the status (RFC 9111 §5.2.2.3).
  var mustUnderstand: Bool { has("must-understand") }
  var maxAge: Int64? { seconds("max-age") }
  /// As `maxAge`, for a shared cache, which prefers it.
  var sharedMaxAge: Int64? { seconds("s-maxage") }
  /// How long a stale response may be used while the origin is unavailable (RFC 5861 §4).
  var staleIfError: Int64? { seconds("stale-if-error") }
  /// How long a stale response may be used while it is being confirmed (RFC 5861 §3).
  var staleWhileRevalidate: Int64? { seconds("stale-while-revalidate") }

  /// Whether shared caches may give the response to everybody, whoever requested it.
  var isForEverybody: Bool { isPublic || sharedMaxAge != nil }

  /// Whether a response with this status must not be stored (RFC 9111 §5.2.2.3, §5.2.2.5): the cache
  /// does what the statuses require that it stores or follows.
  func forbidsStoring(status: Int) -> Bool {
    guard mustUnderstand else { return noStore }
    return !Freshness.isHeuristicallyCacheable(status) && ![302, 303, 307].contains(status)
  }

  /// Whether it states for how long the response may be used.
  private var hasLifetime: Bool { number("max-age") != nil || number("s-maxage") != nil }
  private var isRestricted: Bool { noStore || noCache || isPrivate }

  private func has(_ name: String) -> Bool { arguments[name] != nil }

  /// What is no number of seconds, such as a negative one, counts as zero (RFC 9111 §4.2.1).
  private func seconds(_ name: String) -> Int64? { has(name) ? number(name) ?? 0 : nil }

  private func number(_ name: String) -> Int64? {
    arguments[name].flatMap { Int64(saturatingDigits: $0.trimmingOWS, at: Self.longest) }
  }
}
