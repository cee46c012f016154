// SPDX-License-Identifier: MIT
import Foundation

/// Follows a chain of redirects, hop by hop (RFC 9110 §15.4). A pure value: given each response, it
/// returns the next request.
///
/// Cookies that the chain's responses set are sent with its further requests, within their scope
/// (RFC 6265), beside those of the user. With other cookies, the same URL is another request: some
/// servers set one, and redirect to the requested URL.
struct RedirectPolicy: Sendable, Hashable {
  /// The most hops that are followed.
  static let longestChain = 10
  /// The longest accepted Location, in bytes.
  static let longestLocation = 16 << 10

  /// The last request sent.
  private(set) var request: OriginRequest
  /// The redirects followed so far, also by the earlier chain at whose end this one began.
  private(set) var redirections: [Redirection] = []
  /// The headers of `request` without the chain's cookies.
  private var headers: HeaderFields
  private var cookies = Cookies()
  /// The URLs of the chain's requests, each with the Cookie field, or nil if that has nothing of the
  /// chain's.
  private var visited: Set<[String?]>
  private var leftOrigin = false
  /// Credentials from a Location, for the chain's current origin.
  private var authorization: String?

  /// Begins a chain where an earlier one ended: headers dropped on the way stay dropped, and its
  /// cookies are sent again.
  init(request: OriginRequest, after earlier: RedirectPolicy, at now: Date = Date()) {
    var request = request
    request.url = earlier.request.url
    if earlier.leftOrigin { request.headers = request.headers.forOtherOrigins }
    if request.headers["Authorization"] == nil {
      request.headers["Authorization"] = earlier.authorization
    }
    self.init(request: request)
    cookies = earlier.cookies
    (redirections, leftOrigin) = (earlier.redirections, earlier.leftOrigin)
    authorization = earlier.authorization
    self.request = withCookies(request, at: now)
  }

  /// Drops a field, to send the same request again without it.
  mutating func drop(_ field: String) {
    request.headers[field] = nil
    headers[field] = nil
  }

  /// - Parameter request: the first of the chain, with the user's headers and our own.
  init(request: OriginRequest) {
    self.request = request
    headers = request.headers
    visited = [[URIReference(request.url.absoluteString).textWithoutFragment, nil]]
  }

  /// Returns the request with the chain's cookies for its URL, which are newer than the user's.
  private func withCookies(_ request: OriginRequest, at now: Date) -> OriginRequest {
    var request = request
    request.headers = cookies.complete(
      request.headers, for: request.url, at: now, areNewer: true)
    return request
  }

  /// Returns the request to send after a response, or nil if the response is not a redirect
  /// (301, 302, 303, 307, 308).
  ///
  /// Once the origin changes, only the headers in `carried` continue. As every request is made from
  /// the one before, dropped headers do not return, not even on the way back.
  mutating func follow(
    status: Int, headers received: HeaderFields, askedAt: Date? = nil, at now: Date = Date()
  ) throws(MediaCacheError) -> OriginRequest? {
    guard [301, 302, 303, 307, 308].contains(status) else { return nil }
    guard let location = received.values(of: "Location").first?.trimmingOWS, !location.isEmpty
    else {
      throw refusal("answered \(status) without a Location", status)
    }
    guard redirections.count < Self.longestChain else {
      throw refusal("was redirected more than \(Self.longestChain) times", status)
    }
    guard location.utf8.count <= Self.longestLocation else {
      throw refusal("redirects to a URL of \(location.utf8.count) bytes", status)
    }
    guard let target = URL(text: location, relativeTo: request.url) else {
      throw refusal("redirects to an invalid URL", status)
    }
    let url = target.withoutUserInfo
    let (from, to) = (request.url.scheme?.lowercased(), url.scheme?.lowercased())
    guard to == "http" || to == "https", url.host()?.isEmpty == false else {
      throw refusal("redirects to a URL that is not http or https", status)
    }
    guard !(from == "https" && to == "http") else {
      throw refusal("redirects from https to http, which is not encrypted", status)
    }
    cookies.store(received.values(of: "Set-Cookie"), from: request.url, at: now)
    if !WebOrigin.isOne(of: request.url, url) {
      headers = headers.forOtherOrigins
      leftOrigin = true
      authorization = nil
    }
    // A Location may contain a user and password for its target.
    if headers["Authorization"] == nil, let basic = target.basicAuthorization {
      headers["Authorization"] = basic
      authorization = basic
    }
    var next = request
    next.url = url
    next.headers = headers
    next = withCookies(next, at: now)
    let field = next.headers["Cookie"]
    let visit = [url.absoluteString, field == headers["Cookie"] ? nil : field]
    guard visited.insert(visit).inserted else {
      throw refusal("redirects in a loop", status)
    }
    redirections.append(
      Redirection(
        status: status, headers: received, requestTime: askedAt ?? now, responseTime: now))
    request = next
    return next
  }

  /// The headers that another origin may see: our own, and those of the user that only describe the
  /// program and the formats it can play. Any other may be a credential, under whatever name.
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
  /// The fields that another origin may see.
  package var forOtherOrigins: HeaderFields { only(RedirectPolicy.carried) }
}
