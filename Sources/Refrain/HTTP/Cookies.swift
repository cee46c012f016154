// SPDX-License-Identifier: MIT
package import Foundation

/// A cookie (RFC 6265 §5.3).
package struct Cookie: Sendable, Hashable, Codable {
  package var name: String
  package var value: String
  /// In lower case, without a dot at the start.
  package var domain: String
  package var path: String
  package var isHostOnly = true
  package var isSecure = false
  /// Nil: it does not expire.
  package var expires: Date?

  package func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }
}

/// Cookies, and the requests to which each belongs (RFC 6265).
package struct Cookies: Sendable, Hashable {
  /// §6.1 asks for 3000 of general user agents.
  private static let capacity = 300

  package private(set) var all: [Cookie]

  package init(_ cookies: [Cookie] = []) { all = cookies.suffix(Self.capacity) }

  /// Stores the cookies of the `Set-Cookie` fields of a response (§5.3).
  package mutating func store(_ fields: [String], from url: URL, at now: Date) {
    guard !fields.isEmpty, let place = CookiePlace(url) else { return }
    add(fields.compactMap { Cookie($0, from: place, at: now) }, at: now)
  }

  package mutating func add(_ new: [Cookie], at now: Date) {
    for cookie in new {
      let same = all.firstIndex {
        $0.name == cookie.name && $0.domain == cookie.domain && $0.path == cookie.path
      }
      if let same { all[same] = cookie } else { all.append(cookie) }
    }
    all.removeAll { $0.isExpired(at: now) }
    all.removeFirst(max(all.count - Self.capacity, 0))
  }

  /// Returns the cookies for a request, those with the longest path first (§5.4).
  func cookies(for url: URL, at now: Date) -> [Cookie] {
    guard !all.isEmpty, let place = CookiePlace(url) else { return [] }
    return all.filter { !$0.isExpired(at: now) && place.receives($0) }
      .sorted { $0.path.utf8.count > $1.path.utf8.count }
  }

  /// Returns a request's fields with the cookies for its URL; of two with one name, the newer.
  package func complete(
    _ fields: HeaderFields, for url: URL, at now: Date, areNewer: Bool = false
  ) -> HeaderFields {
    var stored = cookies(for: url, at: now).map { (name: $0.name, text: "\($0.name)=\($0.value)") }
    guard !stored.isEmpty else { return fields }
    var sent = (fields["Cookie"] ?? "").split(separator: ";").map(\.trimmingOWS)
      .filter { !$0.isEmpty }.map { (name: String($0.prefix { $0 != "=" }), text: String($0)) }
    if areNewer {
      sent.removeAll { sent in stored.contains { $0.name == sent.name } }
    } else {
      stored.removeAll { stored in sent.contains { $0.name == stored.name } }
    }
    var complete = fields
    complete["Cookie"] = (sent + stored).map(\.text).joined(separator: "; ")
    return complete
  }
}

/// What decides which cookies a URL sets and receives.
private struct CookiePlace {
  let host: String
  let path: String
  let isSecure: Bool

  init?(_ url: URL) {
    guard let parts = WebURL(url.absoluteString), let origin = WebOrigin(url) else { return nil }
    host = origin.host
    path = String(parts.requestTarget.prefix { $0 != "?" })
    isSecure = origin.scheme == "https" || NetworkAddress.isLoopback(host: origin.host)
  }

  /// §5.1.4.
  var defaultPath: String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  /// Whether the host is the domain or below it (§5.1.3). An address has nothing below it.
  func isBelow(_ domain: String) -> Bool {
    host == domain || (NetworkAddress(host: host) == nil && host.hasSuffix("." + domain))
  }

  /// §5.4.
  func receives(_ cookie: Cookie) -> Bool {
    let folder = cookie.path.hasSuffix("/") ? cookie.path : cookie.path + "/"
    return (cookie.isHostOnly ? host == cookie.domain : isBelow(cookie.domain))
      && (isSecure || !cookie.isSecure) && (path == cookie.path || path.hasPrefix(folder))
  }
}

extension Cookie {
  private static let longest = 4096

  /// Parses a `Set-Cookie` field (§5.2, §5.3); nil if it is invalid, or not for its sender.
  fileprivate init?(_ field: String, from place: CookiePlace, at now: Date) {
    let pairs = field.split(separator: ";", omittingEmptySubsequences: false).map { part in
      part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map { String($0.trimmingOWS) }
    }
    guard field.utf8.count <= Self.longest, pairs[0].count == 2 else { return nil }
    (name, value, path, domain) = (pairs[0][0], pairs[0][1], place.defaultPath, "")
    // As it is sent in a field again.
    guard !name.isEmpty, !"\(name)\(value)".utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else { return nil }
    // The last attribute of a name counts; one without a valid age or date is ignored.
    for pair in pairs.dropFirst() {
      let value = pair.count == 2 ? pair[1] : ""
      switch pair[0].lowercased() {
      case "secure": isSecure = true
      case "path" where value.hasPrefix("/"): path = value
      case "max-age": expires = Int(value).map { now.addingTimeInterval(Double($0)) } ?? expires
      case "expires":
        expires =
          HTTPDate.parse(value) ?? HTTPDate.parse(value.replacing("-", with: " ")) ?? expires
      case "domain": domain = String(value.trimmingPrefix(".")).lowercased()
      default: break
      }
    }
    isHostOnly = domain.isEmpty
    if isHostOnly { domain = place.host }
    // A name without a dot would be for a whole top-level domain.
    guard place.isBelow(domain), domain == place.host || domain.contains(".") else { return nil }
  }
}
