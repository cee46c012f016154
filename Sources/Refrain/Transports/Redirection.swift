// SPDX-License-Identifier: MIT
import Foundation

/// A redirect that was followed on the way to a response (RFC 9110 §15.4).
struct Redirection: Sendable, Hashable {
  var status: Int
  var headers: HeaderFields
  var requestTime: Date
  var responseTime: Date
}

/// A response behind redirects is stored under the URL that was requested. Its use under that URL is
/// a use of each redirect as well, which has a freshness of its own (RFC 9111 §4).
extension Freshness {
  /// Returns the freshness of the response under the URL that was redirected.
  ///
  /// - Parameters:
  ///   - redirections: those that led to the response, also some time ago.
  ///   - keeper: of the response.
  func behind(_ redirections: [Redirection], keeper: Keeper) -> Freshness {
    redirections.reduce(self) { $0.behind($1, keeper: keeper) }
  }

  private func behind(_ redirection: Redirection, keeper: Keeper) -> Freshness {
    let own = Freshness(
      status: redirection.status, headers: redirection.headers,
      requestTime: redirection.requestTime, responseTime: redirection.responseTime, keeper: keeper)
    var result = self
    if own.mustRevalidate, !mustRevalidate {
      (result.mustRevalidate, result.isBounded) = (true, true)
    }
    result.staleWhileRevalidate = own.staleWhileRevalidate.flatMap { permitted in
      staleWhileRevalidate.map { min($0, permitted) }
    }
    if let limit = own.staleIfError {
      result.staleIfError = min(result.staleIfError ?? limit, limit)
    }
    // A private cache stores the response all the same: not the redirect, which it follows again.
    if keeper.isShared {
      if own.noStore { result.noStore = true }
      if !CacheControl.isForEverybody(redirection.headers) { result.mayDifferByCookies = true }
    }
    let isStated = own.isGuessed != true
    // A permanent redirect (RFC 9110 §15.4.2, §15.4.9) needs no freshness of its own.
    if !isStated, [301, 308].contains(redirection.status) { return result }
    // A temporary redirect without explicit freshness is not followed again for a while. One play is
    // often many requests, and each jump to stored bytes would wait for the origin; clients of a shared
    // cache play at different times.
    let total = isStated ? own.lifetime : keeper.isShared ? 10 : 300
    let left = total - own.age(at: confirmedAt)
    // The response keeps its age.
    result.lifetime = max(min(lifetime, initialAge + left), 0)
    if result.lifetime < lifetime { result.isBounded = true }
    if isStated, left <= max(lifetime - initialAge, 0) { result.isGuessed = nil }
    return result
  }
}

extension HeaderFields {
  /// Returns the fields of a response behind redirects: requests that differ in a field by which one
  /// of these varies may be led elsewhere (RFC 9111 §4.1).
  func varying(by redirections: [Redirection]) -> HeaderFields {
    let names = Set(redirections.flatMap { Variant.names(in: $0.headers) })
    let missing = names.subtracting(Variant.names(in: self)).sorted()
    guard !missing.isEmpty else { return self }
    var fields = self
    fields["Vary"] = (fields.values(of: "Vary") + missing).joined(separator: ", ")
    return fields
  }
}
