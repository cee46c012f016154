// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain
import RefrainLocks

/// The cookies that the responses of one stream set, for use from several threads.
package final class CookieJar: Sendable {
  /// When the first of its cookies may have come.
  package let begun: Uptime
  private let cookies: Mutex<Cookies>

  package init(_ cookies: [Cookie] = [], begun: Uptime) {
    self.begun = begun
    self.cookies = Mutex(Cookies(cookies))
  }

  /// Returns all cookies that are not expired.
  package func all(at now: Date) -> [Cookie] {
    cookies.withLock { $0.all }.filter { !$0.isExpired(at: now) }
  }

  /// Stores the cookies of the `Set-Cookie` fields of a response.
  ///
  /// - Returns: whether any cookie is another one now.
  @discardableResult
  package func store(_ fields: [String], from url: URL, at now: Date) -> Bool {
    guard !fields.isEmpty else { return false }
    return cookies.withLock { cookies in
      let before = cookies
      cookies.store(fields, from: url, at: now)
      return before != cookies
    }
  }

  /// Adds cookies, in place of those with the same name, domain and path.
  package func add(_ new: [Cookie], at now: Date) {
    cookies.withLock { $0.add(new, at: now) }
  }

  /// Returns a request's fields with the cookies for its URL. A value that the request has of a
  /// cookie is the newer one.
  package func complete(_ fields: HeaderFields, for url: URL, at now: Date) -> HeaderFields {
    cookies.withLock { $0 }.complete(fields, for: url, at: now)
  }

  /// Returns an observer that stores the cookies of responses.
  ///
  /// - Parameters:
  ///   - identity: of the requests that are observed (`ResponseObserver`).
  ///   - onChange: called after a response that has changed a cookie.
  package func observer(
    _ identity: some Hashable & Sendable, onChange: @escaping @Sendable () -> Void = {}
  ) -> ResponseObserver {
    ResponseObserver(identity: identity) { [self] url, headers in
      if store(headers.values(of: "Set-Cookie"), from: url, at: Date()) { onChange() }
    }
  }
}
