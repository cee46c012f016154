// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// The cookies of one stream (RFC 6265).
package final class CookieJar: Sendable {
  /// RFC 6265 §6.1.
  private static let capacity = 300
  private static let longest = 4096

  package struct Pair: Sendable, Hashable, Codable {
    package var name: String
    package var value: String

    package init(name: String, value: String) { (self.name, self.value) = (name, value) }

    package var isValid: Bool {
      name.isToken && value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ";") }
    }
  }

  package struct Cookie: Sendable, Hashable, Codable {
    package var pair: Pair
    package var domain: String
    package var path: String
    package var isHostOnly: Bool
    package var isSecure: Bool
    package var expires: Date?

    package init(
      pair: Pair, domain: String, path: String, isHostOnly: Bool, isSecure: Bool,
      expires: Date? = nil
    ) {
      (self.pair, self.domain, self.path) = (pair, domain, path)
      (self.isHostOnly, self.isSecure, self.expires) = (isHostOnly, isSecure, expires)
    }

    func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }
  }

  private let cookies: Mutex<[Cookie]>

  package init(_ cookies: [Cookie] = []) {
    self.cookies = Mutex(cookies.suffix(Self.capacity))
  }

  /// Returns all cookies that are not expired.
  package func all(at now: Date) -> [Cookie] {
    cookies.withLock { $0.filter { !$0.isExpired(at: now) } }
  }

  /// Stores the cookies of the `Set-Cookie` fields of a response (§5.3).
  ///
  /// - Returns: whether any cookie is another one now.
  @discardableResult
  package func store(_ fields: [String], from url: URL, at now: Date) -> Bool {
    add(fields.compactMap { Self.cookie($0, from: url, at: now) }, at: now)
  }

  /// Adds cookies, in place of those with the same names.
  ///
  /// - Returns: whether any cookie is another one now.
  @discardableResult
  package func add(_ new: [Cookie], at now: Date) -> Bool {
    guard !new.isEmpty else { return false }
    return cookies.withLock { cookies in
      let before = Set(cookies)
      for cookie in new {
        cookies.removeAll {
          $0.pair.name == cookie.pair.name && $0.domain == cookie.domain && $0.path == cookie.path
        }
        cookies.append(cookie)
      }
      cookies.removeAll { $0.isExpired(at: now) }
      if cookies.count > Self.capacity { cookies.removeFirst(cookies.count - Self.capacity) }
      return before != Set(cookies)
    }
  }

  /// Returns the cookies for a request, those with the longest path first (§5.4).
  package func cookies(for url: URL, at now: Date) -> [Pair] {
    guard let place = Place(url) else { return [] }
    let matching = cookies.withLock { cookies in
      cookies.filter { cookie in
        guard !cookie.isExpired(at: now), !cookie.isSecure || place.isSecure else { return false }
        let isOfHost =
          cookie.isHostOnly
          ? cookie.domain == place.host : Self.isHost(place.host, in: cookie.domain)
        return isOfHost && Self.isPath(place.path, in: cookie.path)
      }
    }
    return matching.enumerated().sorted { left, right in
      let (a, b) = (left.element.path.utf8.count, right.element.path.utf8.count)
      return a == b ? left.offset < right.offset : a > b
    }.map(\.element.pair)
  }

  /// Returns a request's fields with the cookies for its URL. A value that the request has of a
  /// cookie is the newer one.
  package func complete(_ fields: HeaderFields, for url: URL, at now: Date) -> HeaderFields {
    let stored = cookies(for: url, at: now)
    guard !stored.isEmpty else { return fields }
    var complete = fields
    let sent = Self.pairs(fields["Cookie"] ?? "")
    let missing = stored.filter { cookie in !sent.contains { $0.name == cookie.name } }
    complete["Cookie"] = (sent + missing).map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    return complete
  }

  /// Splits the value of a Cookie field.
  private static func pairs(_ field: String) -> [Pair] {
    field.split(separator: ";").compactMap { part in
      let text = part.trimmingOWS
      guard let equals = text.firstIndex(of: "=") else { return nil }
      return Pair(
        name: String(text[..<equals]), value: String(text[text.index(after: equals)...]))
    }
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

  private static func cookie(_ field: String, from url: URL, at now: Date) -> Cookie? {
    guard field.utf8.count <= longest, let place = Place(url) else { return nil }
    var parts = field.split(separator: ";", omittingEmptySubsequences: false)[...]
    guard let pair = parts.popFirst().flatMap({ pairs(String($0)).first }),
      pair.isValid
    else { return nil }
    var cookie = Cookie(
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
