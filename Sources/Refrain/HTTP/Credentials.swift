// SPDX-License-Identifier: MIT

/// As whom a request is made, as far as stored bytes are concerned.
package enum Credentials {
  /// No credentials at all.
  package static let none = ""

  /// Stands for the credentials that a resource is asked for with: Authorization, or the user and
  /// password in its URL. A hash, because this is written down.
  package static func of(_ resource: Resource) -> String {
    let value = resource.headers["Authorization"] ?? resource.url.basicAuthorization
    guard let value, !value.trimmingOWS.isEmpty else { return none }
    return KeyHash.name(of: CacheKey(rawValue: "authorization: \(value.trimmingOWS)"))
  }
}

/// For whose requests a stored response may be used: the representation that it is (RFC 9111 §4.1),
/// and the credentials to which the origin gave it or confirmed it. A pure value.
struct Selection: Sendable, Hashable {
  /// The names in Vary.
  var varying: [String]
  /// Stands for their values in the request that was answered.
  var variant: String?
  /// Nil where that was not recorded, by earlier versions: anybody's.
  var grants: [String]?
  /// The origin lets caches give it to everybody (RFC 9111 §3.5).
  var isPublic: Bool

  /// More are not kept: tokens that are renewed every hour would fill the record.
  static let mostGrants = 16

  init(headers: HTTPFields, variant: String?, grants: [String]?) {
    varying = Variant.names(in: headers)
    self.variant = variant
    self.grants = grants
    let control = CacheControl(headers["Cache-Control"])
    isPublic = control.isPublic || control.sharedMaxAge != nil || control.mustRevalidate
  }

  /// The key of the representation that a request selects; nil where it is this one.
  func otherKey(than key: CacheKey, for request: HTTPFields) -> CacheKey? {
    guard let wanted = Variant.of(request, names: varying), wanted != variant else { return nil }
    return CacheKey(rawValue: "\(key.rawValue)\(Self.variantMark)\(wanted)")
  }

  /// - Parameter credentials: nil: they do not matter.
  func isGranted(to credentials: String?) -> Bool {
    guard let credentials, let grants else { return true }
    return isPublic || grants.contains(credentials)
  }

  /// The key under which a resource is kept that is another one for these credentials.
  static func key(_ key: CacheKey, for credentials: String) -> CacheKey {
    CacheKey(rawValue: "\(key.rawValue)\(credentialsMark)\(credentials)")
  }

  private static let variantMark = " vary:"
  private static let credentialsMark = " for:"

  /// Whether a key is that of another representation of the resource with the first key. No URL has a
  /// space.
  static func isRepresentation(_ other: CacheKey, of key: CacheKey) -> Bool {
    [variantMark, credentialsMark].contains { other.rawValue.hasPrefix(key.rawValue + $0) }
  }
}
