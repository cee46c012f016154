// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Whom the responses of a cache are for, and what follows from that for requests.
enum CachePolicy: Sendable {
  /// One person: who sends which credentials makes no difference.
  case personal
  /// Several people (RFC 9111 §1).
  case shared

  /// Returns the key of a request's response: separate for each set of credentials in a shared cache
  /// (RFC 9111 §3.5).
  ///
  /// - Parameter fields: those of the client's request, with those of its session.
  func key(for resource: Resource, _ fields: HeaderFields, of cache: MediaCache) -> CacheKey {
    let key = cache.key(for: resource)
    switch self {
    case .personal: return key
    case .shared: return Credentials.key(key, for: Resource(url: resource.url, headers: fields))
    }
  }

  /// Whether the response may be personal: the request has cookies, and the cache serves several
  /// people.
  func isPersonal(_ resource: Resource) -> Bool {
    self == .shared && resource.headers["Cookie"] != nil
  }

  /// Whether the resource decrypts segments, and the cache serves several people: it is not stored.
  func isSharedKey(_ resource: Resource) -> Bool {
    self == .shared && resource.policy.group?.isSecret == true
  }

  /// Relaxes the conditions of a request for a manifest or a part of a stream.
  ///
  /// VLC sends `no-cache` with all of them, which states a preference (RFC 9111 §5.2.1.4). Many
  /// origins send `no-cache` with every playlist. RFC 9111 §4.2.4 forbids to use such a response while
  /// the origin is unavailable; a private cache does so all the same, so that a stored stream plays.
  /// A live playlist is used for a short time only (`UpdatePace.longestUnconfirmedUse`).
  ///
  /// - Parameter isPart: whether the URL is that of a segment or a key.
  func relax(_ terms: inout ReadTerms, for url: URL, isPart: Bool) {
    guard self == .personal else { return }
    if Manifest.isNamed(mimeType: nil, url: url) {
      terms.acceptsForbidden = true
      guard terms.directives.noCache else { return }
      // A stored manifest is used if the origin cannot be reached.
      terms.directives.noCache = false
      terms.directives.maxAge = 0
    } else if isPart {
      terms.acceptsForbidden = true
      terms.directives.noCache = false
      terms.directives.maxStale = .max
    }
  }
}
