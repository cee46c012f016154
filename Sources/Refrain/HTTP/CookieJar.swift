// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// The cookies of one stream (RFC 6265), for use from several threads.
package final class CookieJar: Sendable {
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

  private let cookies: Mutex<Cookies>

  package init(_ cookies: [Cookie] = []) { self.cookies = Mutex(Cookies(cookies)) }

  /// Returns all cookies that are not expired.
  package func all(at now: Date) -> [Cookie] {
    cookies.withLock { $0.all.filter { !$0.isExpired(at: now) } }
  }

  /// Stores the cookies of the `Set-Cookie` fields of a response.
  ///
  /// - Returns: whether any cookie is another one now.
  @discardableResult
  package func store(_ fields: [String], from url: URL, at now: Date) -> Bool {
    add(fields.compactMap { Cookies.parsed($0, from: url, at: now) }, at: now)
  }

  /// Adds cookies, in place of those with the same names.
  ///
  /// - Returns: whether any cookie is another one now.
  @discardableResult
  package func add(_ new: [Cookie], at now: Date) -> Bool {
    guard !new.isEmpty else { return false }
    return cookies.withLock { cookies in
      let before = Set(cookies.all)
      cookies.add(new, at: now)
      return before != Set(cookies.all)
    }
  }

  /// Returns the cookies for a request, those with the longest path first.
  package func cookies(for url: URL, at now: Date) -> [Pair] {
    cookies.withLock { $0 }.pairs(for: url, at: now)
  }

  /// Returns a request's fields with the cookies for its URL. A value that the request has of a
  /// cookie is the newer one.
  package func complete(_ fields: HeaderFields, for url: URL, at now: Date) -> HeaderFields {
    cookies.withLock { $0 }.complete(fields, for: url, at: now)
  }
}
