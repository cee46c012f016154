// SPDX-License-Identifier: MIT
import Foundation

package enum Credentials {
  /// Returns a hash of a resource's Authorization, or of the user and password in its URL.
  static func of(_ resource: Resource) -> String? {
    let value = resource.headers["Authorization"] ?? resource.url.basicAuthorization
    guard let value = value?.trimmingOWS, !value.isEmpty else { return nil }
    return KeyHash.hash(of: "authorization: \(value)")
  }

  /// Returns the key for the responses to requests with the credentials of a resource, in a cache
  /// for several people (RFC 9111 §3.5). It is written to disk.
  package static func key(_ key: CacheKey, for resource: Resource) -> CacheKey {
    guard let credentials = of(resource) else { return key }
    return CacheKey(rawValue: "\(key.rawValue)\(Selection.credentialsMark)\(credentials)")
  }
}

struct UserPassword: Sendable, Hashable {
  var user: String
  var password: String

  /// Reads Basic credentials (RFC 7617 §2), for Digest: nil if there are none, and if they are not
  /// UTF-8, since another text would be hashed.
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

/// What a 401 offers (RFC 9110 §11.6.1).
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
