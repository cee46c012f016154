// SPDX-License-Identifier: MIT

/// Identifies the credentials of requests.
package enum Credentials {
  /// No credentials at all.
  static let none = ""

  /// Returns an identifier for the credentials of a resource: Authorization, or the user and
  /// password in its URL. A hash, since it is written to disk.
  static func of(_ resource: Resource) -> String {
    let value = resource.headers["Authorization"] ?? resource.url.basicAuthorization
    guard let value, !value.trimmingOWS.isEmpty else { return none }
    return KeyHash.name(of: CacheKey(rawValue: "authorization: \(value.trimmingOWS)"))
  }

  /// Returns the key for the responses to requests with the credentials of a resource, in a cache for
  /// several people (RFC 9111 §3.5).
  package static func key(_ key: CacheKey, for resource: Resource) -> CacheKey {
    let credentials = of(resource)
    guard credentials != none else { return key }
    return CacheKey(rawValue: "\(key.rawValue)\(Selection.credentialsMark)\(credentials)")
  }
}
