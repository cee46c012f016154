// SPDX-License-Identifier: MIT

/// Identifies the credentials of requests, for stored bytes.
package enum Credentials {
  /// No credentials at all.
  package static let none = ""

  /// Returns an identifier for the credentials of a resource: Authorization, or the user and
  /// password in its URL. A hash, since it is written to disk.
  package static func of(_ resource: Resource) -> String {
    let value = resource.headers["Authorization"] ?? resource.url.basicAuthorization
    guard let value, !value.trimmingOWS.isEmpty else { return none }
    return KeyHash.name(of: CacheKey(rawValue: "authorization: \(value.trimmingOWS)"))
  }
}

/// The requests that may use a stored response: those that select its representation (RFC 9111
/// §4.1), with credentials to which the origin gave or confirmed it. A pure value.
struct Selection: Sendable, Hashable {
  /// The names in Vary.
  var varying: [String]
  /// A hash of their values in the answered request.
  var variant: String?
  /// The credentials; nil if an earlier version did not record them: any.
  var grants: [String]?
  /// Whether the origin lets caches give the response to everybody (RFC 9111 §3.5).
  var isPublic: Bool

  /// The most credentials recorded: tokens that are renewed every hour would fill the record.
  static let mostGrants = 16

  init(headers: HeaderFields, variant: String?, grants: [String]?) {
    varying = Variant.names(in: headers)
    self.variant = variant
    self.grants = grants
    let control = CacheControl(headers["Cache-Control"])
    isPublic = control.isPublic || control.sharedMaxAge != nil || control.mustRevalidate
  }

  /// Returns the key of the representation that a request selects; nil if it is this one.
  func otherKey(than key: CacheKey, for request: HeaderFields) -> CacheKey? {
    guard let wanted = Variant.of(request, names: varying), wanted != variant else { return nil }
    return CacheKey(rawValue: "\(key.rawValue)\(Self.variantMark)\(wanted)")
  }

  /// - Parameter credentials: nil: they do not matter.
  func isGranted(to credentials: String?) -> Bool {
    guard let credentials, let grants else { return true }
    return isPublic || grants.contains(credentials)
  }

  /// Returns the key for a response to these credentials alone.
  static func key(_ key: CacheKey, for credentials: String) -> CacheKey {
    CacheKey(rawValue: "\(key.rawValue)\(credentialsMark)\(credentials)")
  }

  private static let variantMark = " vary:"
  private static let credentialsMark = " for:"

  /// Whether a key is that of another representation of the resource with the first key. No URL has
  /// a space.
  static func isRepresentation(_ other: CacheKey, of key: CacheKey) -> Bool {
    [variantMark, credentialsMark].contains { other.rawValue.hasPrefix(key.rawValue + $0) }
  }

  /// Whether a key is that of another representation of a resource with one of these keys.
  static func isRepresentation(_ other: CacheKey, ofAny keys: Set<CacheKey>) -> Bool {
    let text = other.rawValue
    guard text.utf8.contains(UInt8(ascii: " ")) else { return false }
    return [variantMark, credentialsMark].contains { mark in
      text.ranges(of: mark).contains {
        keys.contains(CacheKey(rawValue: String(text[..<$0.lowerBound])))
      }
    }
  }

  /// Returns the key of the resource of which another key is a representation; nil if it is none.
  static func resourceKey(of representation: CacheKey) -> CacheKey? {
    let text = representation.rawValue
    guard text.utf8.contains(UInt8(ascii: " ")) else { return nil }
    let marks = [variantMark, credentialsMark].compactMap { text.firstRange(of: $0)?.lowerBound }
    return marks.min().map { CacheKey(rawValue: String(text[..<$0])) }
  }
}
