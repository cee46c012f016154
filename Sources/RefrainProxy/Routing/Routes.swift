// SPDX-License-Identifier: MIT
package import Foundation
import Refrain
import RefrainStreams

/// Maps requests to the proxy to URLs of origins, and back.
package struct Routes: Sendable {
  /// Nil if the proxy serves one origin.
  let token: String?
  /// Nil if there are many.
  let origin: ServedOrigin?
  var place: ListeningPlace
  private let hosts: AllowedHosts
  private let hostsFilter: URLFilter
  /// For references of a private network's URL.
  private let privateFilter: URLFilter
  private let hostCheck: HostCheck

  /// Throws `.invalidConfiguration` for an invalid part, and if this would be an open proxy.
  init(
    at place: ListeningPlace, token given: String?, origin url: URL?, allowedHosts: [String],
    names: [String]
  ) throws(CacheProxyError) {
    self.place = place
    hostCheck = HostCheck(names: names, machine: ProcessInfo.processInfo.hostName)
    for name in names where Authority(name) == nil {
      throw CacheProxyError(
        .invalidConfiguration,
        "\(String(reflecting: name.prefix(100))) is not a valid name of the proxy.",
        remedy: "Write it as clients do in Host: media.example.com, [2001:db8::1].")
    }
    let hosts = try AllowedHosts(allowedHosts)
    self.hosts = hosts
    privateFilter = URLFilter(remedy: AllowedHosts.remedy) { hosts.allows($0) }
    if let url {
      guard url.query() == nil, url.fragment() == nil, url.withoutUserInfo == url,
        let origin = ServedOrigin(url)
      else {
        throw CacheProxyError(
          .invalidConfiguration, "\(url.withoutUserInfo.absoluteString) cannot be an origin.",
          remedy: "Use an http or https URL without a query, such as https://media.example.com.")
      }
      // Other targets of the origin's redirects could be in the proxy's own network.
      hostsFilter = URLFilter(remedy: AllowedHosts.remedy) {
        origin.contains($0) || !hosts.isEmpty && hosts.allows($0)
      }
      (self.origin, self.token) = (origin, nil)
      return
    }
    hostsFilter =
      hosts.isEmpty
      ? URLFilter(remedy: AllowedHosts.remedy, checksAddresses: true) {
        !PrivateNetwork.contains($0)
      } : privateFilter
    let token = given ?? TokenCheck.random()
    guard TokenCheck.isValid(token) else {
      throw CacheProxyError(
        .invalidConfiguration,
        "The token is too short or contains characters that a URL must encode.",
        remedy: "Use at least 16 letters, digits, '-', '.', '_' or '~', or no token at all.")
    }
    guard NetworkAddress.isLoopback(host: place.wanted.host) || !hosts.isEmpty else {
      throw CacheProxyError(
        .invalidConfiguration,
        "On \(place.wanted.host) this would be an open proxy: others could fetch any URL.",
        remedy: "Name one origin, or the allowed hosts, or listen on 127.0.0.1.")
    }
    (self.origin, self.token) = (nil, token)
  }

  // MARK: From a request

  /// Checks only the token, in constant time.
  func mayBeOurs(target: String) -> Bool {
    token.map { TokenCheck.begins(target, with: $0) } ?? target.hasPrefix("/")
  }

  /// - Parameter localAddress: the one to which the client has connected.
  func isOurs(host: String, localAddress: String?) -> Bool {
    guard let listening = place.known else { return false }
    let addresses = [localAddress, listening.host].compactMap(\.self)
    return hostCheck.isOurs(host, at: addresses, port: listening.port)
  }

  /// Checks that the request is meant for this proxy, and returns its target in origin form.
  func ownTarget(of request: ClientRequest) throws(HTTPError) -> Substring {
    let target = request.head.target
    var path = target[...]
    var authority = request.head.host.map { request.head.withBytes(at: $0, \.text) }
    if !target.hasPrefix("/"), target != "*" {
      // The authority in the target counts, and not Host (RFC 9112 §3.2.2).
      guard let parts = ProxyURL.splitAbsolute(target) else {
        throw HTTPError(400, "The request target is not valid.")
      }
      authority = parts.authority
      path = parts.target[...]
    }
    // HTTP/1.0 has no Host, and no browser uses it.
    if let authority, !isOurs(host: authority, localAddress: request.localAddress) {
      throw HTTPError(
        421,
        "This proxy is not \(authority). Use its address or its name; 'serve --name' adds one.")
    }
    return path
  }

  func named(by request: ClientRequest) throws(HTTPError) -> ProxyURL.Named {
    var path = try ownTarget(of: request)
    if path == "*" { path = "/" }
    if let origin { return ProxyURL.Named(url: try origin.url(of: path)) }
    let named = try ProxyURL.parse(target: path, token: token ?? "")
    guard hosts.allows(named.url) else {
      throw HTTPError(403, "Requests to \(named.url.host() ?? "this host") are not allowed.")
    }
    return named
  }

  /// Removes the token, for the log.
  func shown(_ target: String) -> String {
    guard let token else { return target }
    return target.replacing(token, with: "…")
  }

  // MARK: To a client

  /// Returns nil if the proxy cannot serve the URL.
  func target(for url: URL, session: String? = nil) -> String? {
    let url = url.withoutDotSegments
    if let origin { return origin.target(of: url) }
    return token.flatMap { ProxyURL.target(for: url, token: $0, session: session) }
  }

  /// As `target(for:session:)`, for a reference in a manifest or a redirect of `referrer`: nil also
  /// for a host that is not allowed, or from a public host into a private network.
  func target(for url: URL, from referrer: URL, session: String?) -> String? {
    if origin == nil {
      let filter = filter(for: referrer)
      guard filter.allows(url) else { return nil }
      filter.noteReference(to: url, from: referrer)
    }
    return target(for: url, session: session)
  }

  /// Returns the filter of a URL's requests and of their redirects. While no hosts are named, it
  /// protects private networks from references of a public host.
  func filter(for url: URL) -> URLFilter {
    origin != nil || !PrivateNetwork.contains(url) ? hostsFilter : privateFilter
  }

  /// Returns where a redirect of the origin's response for `url` leads its clients. A relative one
  /// is resolved too: the client would resolve it against the URL that it requested.
  func rewritten(location: String, of url: URL, session: String?) -> String {
    guard let absolute = URL(text: location, relativeTo: url)?.absoluteURL,
      absolute.host()?.isEmpty == false,
      // Only the client may decide to give up encryption.
      !(url.scheme?.lowercased() == "https" && absolute.scheme?.lowercased() == "http")
    else { return location }
    // The fragment is for the client, and is kept (RFC 9110 §10.2.2).
    let fragment = location.firstIndex(of: "#").map { String(location[$0...]) } ?? ""
    guard let target = target(for: absolute, from: url, session: session) else {
      return absolute.absoluteString + fragment
    }
    // Two leading slashes name a host, not a path (RFC 3986 §4.2); a browser takes "\" for a slash.
    let isHost = target.hasPrefix("//") || target.hasPrefix("/\\")
    return (isHost ? "/." : "") + target + fragment
  }

  /// Whether a Referer or an Origin names this proxy, by any name of it, or contains the token.
  func isOwn(referrer text: String, of request: ClientRequest) -> Bool {
    guard let token else { return false }
    if text.contains(token) { return true }
    return WebURL(text).map { isOurs(host: $0.authority, localAddress: request.localAddress) }
      == true
  }

  /// A slash and the token, or nothing.
  package var pathPrefix: String { token.map { "/\($0)" } ?? "" }

  /// Ends with a slash; nil before the port is known. The client has come by `host`, a Host of this
  /// machine, and comes again.
  package func base(reachedAs host: String?) -> String? {
    reachable(as: host).map { "http://\($0)\(pathPrefix)/" }
  }

  /// Returns the address for clients. If the proxy listens on every address: the host by which the
  /// client has reached this machine; loopback, if it is unknown.
  private func reachable(as host: String?) -> ListeningAddress? {
    guard var address = place.known else { return nil }
    let name = host.flatMap { Authority($0)?.plainHost.trimmingCharacters(in: ["[", "]"]) }
    switch address.host {
    // Nobody listens at an IPv6 address.
    case "0.0.0.0": address.host = name.flatMap { $0.contains(":") ? nil : $0 } ?? "127.0.0.1"
    case "::": address.host = name ?? "::1"
    default: break
    }
    return address
  }

  /// Throws as `CacheProxy.url(for:)`; `host` is as for `base`.
  package func proxied(
    _ url: URL, session: String? = nil, reachedAs host: String? = nil
  ) throws -> URL {
    guard let address = reachable(as: host) else {
      throw CacheProxyError(
        .notListening, "The proxy is not listening yet, so its port is unknown.",
        remedy: "Wait until the proxy is listening, or choose the port.")
    }
    guard origin != nil || hosts.allows(url) else {
      throw MediaCacheError(
        .badURL, "Requests to \(url.host() ?? "this host") are not allowed.",
        remedy: "Allow the host.")
    }
    let plain = url.withoutUserInfo
    guard let target = target(for: plain, session: session),
      let proxied = URL(string: "http://\(address)\(target)", encodingInvalidCharacters: false)
    else {
      throw MediaCacheError(
        .badURL, "This proxy cannot serve \(plain.absoluteString).",
        remedy: origin.map { "Use a URL that begins with \($0.text)." }
          ?? "Use an http or https URL.")
    }
    return proxied
  }
}

extension Routes {
  /// Returns the origin's URL for a target, without a token, or a URL. Throws 400 for text that names
  /// nothing which this proxy serves.
  package func url(named text: String) throws(HTTPError) -> URL {
    if text.hasPrefix("/") {
      if let origin { return try origin.url(of: text) }
      return try ProxyURL.parse(target: pathPrefix + text, token: token ?? "").url
    }
    guard let url = URL(text: text), WebURL(url.absoluteString) != nil else {
      throw HTTPError(400, "\(text.prefix(200)) is not an http or https URL.")
    }
    if let origin, origin.target(of: url.withoutDotSegments) == nil {
      throw HTTPError(
        400, "\(text.prefix(200)) does not begin with \(origin.text). Use the path alone.")
    }
    return url
  }
}

extension URL {
  /// As its origin resolves it (RFC 3986 §5.2.4): also without percent-encoded dot segments.
  fileprivate var withoutDotSegments: URL {
    var reference = URIReference(absoluteString)
    guard URLSpelling.hasDotSegment(path: reference.path) else { return self }
    let segments = reference.path.split(separator: "/", omittingEmptySubsequences: false)
      .map { URLSpelling.dots($0) ?? String($0) }
    reference.path = URIReference.removingDotSegments(segments.joined(separator: "/"))
    return URL(string: reference.textWithoutFragment, encodingInvalidCharacters: false) ?? self
  }
}
