// SPDX-License-Identifier: MIT
import Foundation

package enum Credentials {
  static let none = ""

  /// Returns an identifier for the credentials of a resource: Authorization, or the user and
  /// password in its URL. A hash, since it is written to disk.
  static func of(_ resource: Resource) -> String {
    let value = resource.headers["Authorization"] ?? resource.url.basicAuthorization
    guard let value, !value.trimmingOWS.isEmpty else { return none }
    return KeyHash.hash(of: "authorization: \(value.trimmingOWS)")
  }

  /// Returns the key for the responses to requests with the credentials of a resource, in a cache for
  /// several people (RFC 9111 §3.5).
  package static func key(_ key: CacheKey, for resource: Resource) -> CacheKey {
    let credentials = of(resource)
    guard credentials != none else { return key }
    return CacheKey(rawValue: "\(key.rawValue)\(Selection.credentialsMark)\(credentials)")
  }
}

/// A user and a password for Digest (RFC 7616).
struct UserPassword: Sendable, Hashable {
  var user: String
  var password: String

  /// Reads Basic credentials (RFC 7617 §2).
  ///
  /// - Parameter authorization: the value of an Authorization field; nil and other schemes have no
  ///   password. One that is not UTF-8 is none either: Digest would hash another text.
  init?(authorization: String?) {
    let words = (authorization ?? "").split(separator: " ", maxSplits: 1)
    guard words.count == 2, words[0].lowercased() == "basic",
      let pair = Data(base64Encoded: String(words[1].trimmingOWS)),
      let colon = pair.firstIndex(of: UInt8(ascii: ":")), !pair.contains(0),
      let user = String(validating: pair[..<colon], as: UTF8.self),
      let password = String(validating: pair[(colon + 1)...], as: UTF8.self)
    else { return nil }
    (self.user, self.password) = (user, password)
  }
}

/// The authentication schemes that a 401 offers (RFC 9110 §11.6.1).
package enum Challenges {
  package static func offerDigest(_ headers: HeaderFields) -> Bool {
    headers.values(of: "WWW-Authenticate").contains { value in
      // Quoted commas separate nothing, and `digest = x` is a parameter.
      let plain = value.replacing(#/"(?:[^"\\]|\\.)*"?/#, with: "")
      let offer = #/(?:^|,)[ \t]*digest(?:[ \t]+[^ \t=]|[ \t]*(?:,|$))/#.ignoresCase()
      return plain.firstMatch(of: offer) != nil
    }
  }
}
