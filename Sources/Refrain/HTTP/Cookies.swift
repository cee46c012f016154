// SPDX-License-Identifier: MIT
import Foundation

/// Cookies, and the requests to which each belongs (RFC 6265). A pure value.
struct Cookies: Sendable, Hashable {
  /// §6.1.
  private static let capacity = 300
  private static let longest = 4096

  private(set) var all: [CookieJar.Cookie]

  init(_ cookies: [CookieJar.Cookie] = []) { all = cookies.suffix(Self.capacity) }

  /// Stores the cookies of the `Set-Cookie` fields of a response (§5.3).
  mutating func store(_ fields: [String], from url: URL, at now: Date) {
    add(fields.compactMap { Self.parsed($0, from: url, at: now) }, at: now)
  }

  /// Adds cookies, in place of those with the same names.
  mutating func add(_ new: [CookieJar.Cookie], at now: Date) {
    for cookie in new {
      all.removeAll {
        $0.pair.name == cookie.pair.name && $0.domain == cookie.domain && $0.path == cookie.path
      }
      all.append(cookie)
    }
    all.removeAll { $0.isExpired(at: now) }
    if all.count > Self.capacity { all.removeFirst(all.count - Self.capacity) }
  }

  /// Returns the cookies for a request, those with the longest path first (§5.4).
  func pairs(for url: URL, at now: Date) -> [CookieJar.Pair] {
    guard !all.isEmpty, let place = Place(url) else { return [] }
    let matching = all.filter { cookie in
      guard !cookie.isExpired(at: now), !cookie.isSecure || place.isSecure else { return false }
      let isOfHost =
        cookie.isHostOnly
        ? cookie.domain == place.host : Self.isHost(place.host, in: cookie.domain)
      return isOfHost && Self.isPath(place.path, in: cookie.path)
    }
    return matching.enumerated().sorted { left, right in
      let (a, b) = (left.element.path.utf8.count, right.element.path.utf8.count)
      return a == b ? left.offset < right.offset : a > b
    }.map(\.element.pair)
  }

  /// Returns a request's fields with the cookies for its URL.
  ///
  /// - Parameter areNewer: whether these replace those of the same names that the request has;
  ///   otherwise the request's are the newer ones.
  func complete(
    _ fields: HeaderFields, for url: URL, at now: Date, areNewer: Bool = false
  ) -> HeaderFields {
    let stored = pairs(for: url, at: now)
    guard !stored.isEmpty else { return fields }
    let sent = (fields["Cookie"] ?? "").split(separator: ";").map { String($0.trimmingOWS) }
      .filter { !$0.isEmpty }
    func name(_ text: String) -> Substring { text.prefix { $0 != "=" } }
    let kept = areNewer ? sent.filter { text in !stored.contains { $0.name == name(text) } } : sent
    let added =
      areNewer ? stored : stored.filter { cookie in !sent.contains { name($0) == cookie.name } }
    var complete = fields
    complete["Cookie"] = (kept + added.map { "\($0.name)=\($0.value)" }).joined(separator: "; ")
    return complete
  }

  // MARK: Parsing

  private struct Place {
    var host: String
    var path: String
    var isSecure: Bool

    init?(_ url: URL) {
      guard let parts = WebURL(url.absoluteString), let origin = WebOrigin(parts) else {
        return nil
      }
      host = origin.host
      path = String(parts.requestTarget.prefix { $0 != "?" })
      isSecure = origin.scheme == "https" || LoopbackAddress.contains(origin.host)
    }

    /// §5.1.4.
    var defaultPath: String {
      guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
      return String(path[..<slash])
    }
  }

  /// Returns the cookie of a `Set-Cookie` field (§5.2, §5.3); nil if it is invalid, or not for the
  /// host that sent it.
  static func parsed(_ field: String, from url: URL, at now: Date) -> CookieJar.Cookie? {
    guard field.utf8.count <= longest, let place = Place(url) else { return nil }
    var parts = field.split(separator: ";", omittingEmptySubsequences: false)[...]
    guard let text = parts.popFirst()?.trimmingOWS, let equals = text.firstIndex(of: "=")
    else { return nil }
    let pair = CookieJar.Pair(
      name: String(text[..<equals]), value: String(text[text.index(after: equals)...]))
    guard pair.isValid else { return nil }
    var cookie = CookieJar.Cookie(
      pair: pair, domain: place.host, path: place.defaultPath, isHostOnly: true, isSecure: false)
    var hasMaxAge = false
    for part in parts {
      let attribute = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = attribute.count == 2 ? String(attribute[1].trimmingOWS) : ""
      switch attribute[0].trimmingOWS.lowercased() {
      case "domain":
        let domain = (value.hasPrefix(".") ? String(value.dropFirst()) : value).lowercased()
        if domain.isEmpty { continue }
        // A name without a dot would be for a whole top-level domain.
        guard isHost(place.host, in: domain), domain == place.host || domain.contains(".") else {
          return nil
        }
        cookie.domain = domain
        cookie.isHostOnly = false
      case "path":
        cookie.path = value.hasPrefix("/") ? value : place.defaultPath
      case "secure":
        cookie.isSecure = true
      case "max-age":
        guard let seconds = Double(value), seconds.isFinite else { continue }
        cookie.expires = seconds <= 0 ? .distantPast : now.addingTimeInterval(min(seconds, 1e10))
        hasMaxAge = true
      case "expires" where !hasMaxAge:
        cookie.expires = HTTPDate.parse(value) ?? cookie.expires
      default: continue
      }
    }
    return cookie
  }

  /// Whether a host is a domain or below it (§5.1.3). An address has nothing below it.
  private static func isHost(_ host: String, in domain: String) -> Bool {
    guard host != domain else { return true }
    let isAddress = host.hasPrefix("[") || LoopbackAddress.bytesOfIPv4(host) != nil
    return !isAddress && host.hasSuffix("." + domain)
  }

  /// §5.1.4.
  private static func isPath(_ path: String, in cookiePath: String) -> Bool {
    guard path.hasPrefix(cookiePath) else { return false }
    return path.utf8.count == cookiePath.utf8.count || cookiePath.hasSuffix("/")
      || path.utf8.dropFirst(cookiePath.utf8.count).first == UInt8(ascii: "/")
  }
}
