// SPDX-License-Identifier: MIT
import Foundation

/// The requests that follow redirects (RFC 9110 §15.4), with the cookies that these set (RFC 6265):
/// some servers set one, and redirect to the requested URL. A pure value.
struct RequestChain: Sendable {
  static let longest = 10
  static let longestLocation = 16 << 10

  var request: OriginRequest
  /// The redirects followed so far, also by the earlier chain at whose end this one began.
  private(set) var redirections: [Redirection] = []
  /// The headers of `request` without the chain's cookies.
  private var headers: HeaderFields
  private var cookies = Cookies()
  private var leftOrigin = false

  init(request: OriginRequest) {
    self.request = request
    headers = request.headers
  }

  /// Begins where an earlier chain of the same resource ended: headers dropped on the way stay
  /// dropped, and its cookies are sent again.
  init(request: OriginRequest, after earlier: RequestChain, at now: Date = Date()) {
    self = earlier
    headers = leftOrigin ? request.headers.forOtherOrigins : request.headers
    var request = request
    request.url = earlier.request.url
    send(request, at: now)
  }

  /// The chain's cookies are newer than the user's.
  private mutating func send(_ next: OriginRequest, at now: Date) {
    request = next
    request.headers = cookies.complete(headers, for: next.url, at: now, areNewer: true)
  }

  static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

  /// Returns the request to send after a response; nil if that is no redirect. Once the origin
  /// changes, only the headers in `carried` continue, also on the way back.
  mutating func follow(
    status: Int, headers received: HeaderFields, askedAt: Date? = nil, at now: Date = Date()
  ) throws(MediaCacheError) -> OriginRequest? {
    guard Self.isRedirect(status) else { return nil }
    guard redirections.count < Self.longest else {
      throw refusal("was redirected more than \(Self.longest) times", status)
    }
    guard let location = received.values(of: "Location").first?.trimmingOWS, !location.isEmpty,
      location.utf8.count <= Self.longestLocation,
      let target = URL(text: location, relativeTo: request.url),
      let scheme = target.scheme?.lowercased(), ["http", "https"].contains(scheme),
      target.host()?.isEmpty == false
    else {
      throw refusal("answered \(status) without the URL of a resource", status)
    }
    guard scheme == "https" || request.url.scheme?.lowercased() != "https" else {
      throw refusal("redirects from https to http, which is not encrypted", status)
    }
    let before = request
    var next = request
    next.url = target.withoutUserInfo
    cookies.store(received.values(of: "Set-Cookie"), from: request.url, at: now)
    if !WebOrigin.isOne(of: request.url, next.url) {
      headers = headers.forOtherOrigins
      leftOrigin = true
    }
    send(next, at: now)
    guard request != before else { throw refusal("redirects to the requested URL", status) }
    redirections.append((status, received, askedAt ?? now, now))
    return request
  }

  fileprivate static let carried: Set<String> = HeaderFields.harmlessNames.union([
    "range", "if-range", "if-none-match", "if-modified-since", "accept-encoding", "icy-metadata",
    // By these a proxy recognizes its own request in a loop (RFC 9110 §7.6.3, RFC 8586).
    "via", "cdn-loop",
  ])

  private func refusal(_ what: String, _ status: Int) -> MediaCacheError {
    MediaCacheError(
      .redirect, "\(request.url.host() ?? "The origin") \(what).",
      remedy: "Use the final URL of the resource.", status: status)
  }
}

extension HeaderFields {
  package var forOtherOrigins: HeaderFields { only(RequestChain.carried) }
}

typealias Redirection = (status: Int, headers: HeaderFields, requestTime: Date, responseTime: Date)

extension Freshness {
  /// Returns the freshness of a response that is stored under the URL of a redirect to it: its use
  /// is a use of each redirect as well, which has a freshness of its own (RFC 9111 §4).
  func behind(_ redirections: [Redirection], keeper: Keeper) -> Freshness {
    redirections.reduce(into: self) { $0.bound(by: $1, keeper: keeper) }
  }

  private mutating func bound(by redirection: Redirection, keeper: Keeper) {
    let own = Freshness(
      status: redirection.status, headers: redirection.headers,
      requestTime: redirection.requestTime, responseTime: redirection.responseTime, keeper: keeper)
    // What it permits beyond that is about another response.
    staleWhileRevalidate = nil
    // A private cache does not store the redirect, and follows it again.
    if keeper.isShared {
      noStore = noStore || own.noStore
      let control = CacheControl(redirection.headers, isShared: true)
      if !control.isForEverybody { mayDifferByCookies = true }
    }
    // A permanent redirect (RFC 9110 §15.4.2, §15.4.9) needs no freshness of its own. A temporary
    // one is not followed again for a while: one play is many requests, which would all wait.
    let unstated =
      [301, 308].contains(redirection.status) ? Double.infinity : keeper.isShared ? 10 : 300
    let total = own.isGuessed == true ? unstated : own.lifetime
    // The response keeps its age.
    let limit = max(initialAge + total - own.age(at: confirmedAt), 0)
    if own.mustRevalidate && !mustRevalidate || limit < lifetime { isBounded = true }
    mustRevalidate = mustRevalidate || own.mustRevalidate
    lifetime = min(lifetime, limit)
  }
}

extension HeaderFields {
  /// Requests that differ in a field by which a redirect varies may be led elsewhere.
  func varying(by redirections: [Redirection]) -> HeaderFields {
    let missing = Set(redirections.flatMap { Variant.names(in: $0.headers) })
      .subtracting(Variant.names(in: self)).sorted()
    guard !missing.isEmpty else { return self }
    var fields = self
    fields["Vary"] = (fields.values(of: "Vary") + missing).joined(separator: ", ")
    return fields
  }
}
