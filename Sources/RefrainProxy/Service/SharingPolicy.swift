// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Whether a proxy's cache is for one person or for several, and what this decides.
enum SharingPolicy: Sendable {
  /// Who sends which credentials makes no difference.
  case personal
  /// By RFC 9111 for shared caches: nothing that is for one client reaches another one.
  case shared(SharedMemory)

  init(of cache: MediaCache) {
    self = cache.isShared ? .shared(SharedMemory(since: cache.now.wall)) : .personal
  }

  /// Nil in a cache for one person, which asks the origin again for what it does not store.
  var memory: SharedMemory? { if case .shared(let memory) = self { memory } else { nil } }
  var isShared: Bool { memory != nil }

  /// Returns the key under which a request finds its resource: in a shared cache another one for
  /// each set of credentials (RFC 9111 §3.5).
  func key(_ resourceKey: CacheKey, for request: Resource) -> CacheKey {
    isShared ? Credentials.key(resourceKey, for: request) : resourceKey
  }

  /// Completes the terms on which a request for `resource` may use what is stored under `key`.
  func complete(
    _ terms: inout ReadTerms, of resource: Resource, _ resourceKey: CacheKey, on key: CacheKey,
    isPart: @autoclosure () -> Bool
  ) {
    if let memory {
      terms.hasCookies = resource.headers["Cookie"] != nil
      terms.followsStaleDirectives = true
      if key != resourceKey { terms.notBefore = memory.lastChange(of: resourceKey) }
    } else if Manifest.isNamed(mimeType: nil, url: resource.url) {
      // VLC and many origins send `no-cache` with all manifests and parts of streams. RFC 9111 §4.2.4
      // forbids to use such a response while the origin is unavailable; a private cache does so all
      // the same, so that a stored stream plays.
      terms.acceptsForbidden = true
      guard terms.directives.noCache else { return }
      // A stored manifest is used if the origin cannot be reached.
      (terms.directives.noCache, terms.directives.maxAge) = (false, 0)
    } else if isPart() {
      terms.acceptsForbidden = true
      (terms.directives.noCache, terms.directives.maxStale) = (false, .max)
    }
  }

  /// Whether its requests go past the cache: a secret decrypts segments, and is not for several people.
  func bypassesCache(_ resource: Resource) -> Bool {
    isShared && resource.policy.group?.isSecret == true
  }

  /// Whether a client may receive what the cache has, which another client's request may have brought.
  func mayReceive(_ known: StoredResponse, hasCookies: Bool) -> Bool {
    !isShared || !known.freshness.noStore && (!hasCookies || known.isForEverybody)
  }
}
