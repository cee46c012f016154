// SPDX-License-Identifier: MIT
import Foundation

/// The requests of one exchange: given each response, it returns the next request, which follows a
/// redirect (RFC 9110 §15.4), or leaves out what the origin has no usable response to. A pure value.
///
/// Cookies that the chain's responses set are sent with its further requests, within their scope
/// (RFC 6265), beside those of the user: some servers set one, and redirect to the requested URL.
struct RequestChain: Sendable, Hashable {
  static let longest = 10
  /// The longest accepted Location, in bytes.
  static let longestLocation = 16 << 10

  /// The last request. Whoever sends it says whether its address must be public.
  var request: OriginRequest
  /// The redirects followed so far, also by the earlier chain at whose end this one began.
  private(set) var redirections: [Redirection] = []
  /// The length of the resource in the response to a range that was then dropped.
  private(set) var statedLength: Int64?
  /// The headers of `request` without the chain's cookies.
  private var headers: HeaderFields
  private var cookies = Cookies()
  private var leftOrigin = false

  init(request: OriginRequest) {
    self.request = request
    headers = request.headers
  }

  /// Begins a chain where an earlier one of the same resource ended: headers dropped on the way stay
  /// dropped, and its cookies are sent again.
  init(request: OriginRequest, after earlier: RequestChain, at now: Date = Date()) {
    self = earlier
    statedLength = nil
    headers = leftOrigin ? request.headers.forOtherOrigins : request.headers
    var request = request
    request.url = earlier.request.url
    send(request, at: now)
  }

  /// Makes a request the last one, with the chain's cookies, which are newer than the user's.
  private mutating func send(_ next: OriginRequest, at now: Date) {
    request = next
    request.headers = cookies.complete(headers, for: next.url, at: now, areNewer: true)
  }

  static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

  /// Returns the request to send after a response; nil if that is no redirect. Once the origin
  /// changes, only the headers in `carried` continue: dropped ones do not return, not even on the
  /// way back.
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
    redirections.append(
      Redirection(
        status: status, headers: received, requestTime: askedAt ?? now, responseTime: now))
    return request
  }

  /// Drops the fields without which the same request has a better response, such as an optional
  /// range (`FetchRequest`). Returns false if there are none.
  mutating func leaveOut(
    after response: OriginExchange.Response, optionalRange: ByteRange?
  ) -> Bool {
    let names: [String]
    if request.headers["Range"] != nil,
      // A part of an encoded document cannot be decoded. A station cuts one out of its current
      // stream: the next one would not continue where it ends.
      response.status == 206 && (response.decoder != nil || response.isLive)
        || optionalRange.map({ Self.refuses($0, response) }) == true
    {
      names = HeaderFields.ofRange
    } else if response.metadataInterval == 0 {
      names = [ICYFields.request]
    } else {
      return false
    }
    // A length beside a coding is that of the encoded bytes.
    if response.headers.contentCodings.isEmpty, let total = response.headers.contentRange?.total {
      statedLength = total
    }
    for name in names { (request.headers[name], headers[name]) = (nil, nil) }
    return true
  }

  /// Whether an origin that has never sent a range has no usable response to one: it refuses the
  /// range, or sends another or an invalid one. A 403 is judged once the user's hook did not help.
  private static func refuses(_ range: ByteRange, _ response: OriginExchange.Response) -> Bool {
    let check = ResponseCheck(asked: range, known: nil)
    switch check.verdict(
      status: response.status, headers: response.headers, now: response.responseTime)
    {
    case .invalid, .beyondEnd(length: nil): return true
    case .failed(let error): return [400, 405, 501].contains(error.status)
    default: return false
    }
  }

  /// The headers that another origin may see: our own, and the user's harmless ones.
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
  func behind(_ redirections: [Redirection], keeper: Keeper) -> Freshness {
    var result = self
    for redirection in redirections { result.bound(by: redirection, keeper: keeper) }
    return result
  }

  private mutating func bound(by redirection: Redirection, keeper: Keeper) {
    let own = Freshness(
      status: redirection.status, headers: redirection.headers,
      requestTime: redirection.requestTime, responseTime: redirection.responseTime, keeper: keeper)
    if own.mustRevalidate, !mustRevalidate { (mustRevalidate, isBounded) = (true, true) }
    // What it permits beyond that is about another response.
    staleWhileRevalidate = nil
    // A private cache stores the response all the same: not the redirect, which it follows again.
    if keeper.isShared {
      if own.noStore { noStore = true }
      let control = CacheControl(redirection.headers, isShared: true)
      if !control.isForEverybody { mayDifferByCookies = true }
    }
    let isStated = own.isGuessed != true
    // A permanent redirect (RFC 9110 §15.4.2, §15.4.9) needs no freshness of its own.
    if !isStated, [301, 308].contains(redirection.status) { return }
    // Without explicit freshness, a temporary redirect is not followed again for a while: one play
    // is many requests, which would all wait. Clients of a shared cache play at different times.
    let total = isStated ? own.lifetime : keeper.isShared ? 10 : 300
    // The response keeps its age.
    let limit = max(initialAge + total - own.age(at: confirmedAt), 0)
    if isStated, limit <= max(lifetime, initialAge) { isGuessed = nil }
    if limit < lifetime { (lifetime, isBounded) = (limit, true) }
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
