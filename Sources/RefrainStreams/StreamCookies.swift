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

/// The cookies that the responses of streams set, as long as this process runs. Some origins, as
/// Akamai's with `hdntl`, give segments to those alone who send the cookies of the playlist.
///
/// All methods may be called from any thread.
final class StreamCookies: Sendable {
  /// The request with which a stream begins.
  struct Beginning: Sendable, Hashable {
    var url: URL
    var headers: HeaderFields
  }

  private static let capacity = 256

  private let jars = Mutex<[Beginning: CookieJar]>([:])

  func jar(of beginning: Beginning, at now: Moment) -> CookieJar {
    jars.withLock { jars in
      if let known = jars[beginning] { return known }
      // Most resources begin no stream, and have no cookies.
      if jars.count >= Self.capacity { jars = jars.filter { !$0.value.all(at: now.wall).isEmpty } }
      if jars.count >= Self.capacity { jars = [:] }
      let new = CookieJar(begun: now.uptime)
      jars[beginning] = new
      return new
    }
  }

  func removeAll() { jars.withLock { $0 = [:] } }
}

extension MediaCache {
  private var streamCookies: StreamCookies { companion { StreamCookies() } }

  /// Returns the cookies that the responses of a stream have set in this process.
  ///
  /// - Parameter stream: its first manifest.
  package func cookies(of stream: Resource) -> CookieJar {
    streamCookies.jar(of: beginning(of: stream), at: now)
  }

  /// Returns the observer that collects `cookies(of:)`.
  package func cookieObserver(of stream: Resource) -> ResponseObserver {
    cookies(of: stream).observer(beginning(of: stream))
  }

  /// With the headers that grant access: cookies for one account must not reach another one.
  private func beginning(of stream: Resource) -> StreamCookies.Beginning {
    StreamCookies.Beginning(url: stream.url, headers: stream.headers.grantingAccess)
  }

  /// Returns a resource that may be the first manifest of a stream: with the rules of manifests, and
  /// with the cookies of its responses collected. A shared cache collects none.
  package func possibleStream(_ stream: Resource) -> Resource {
    var resource = stream
    resource.policy.documents = ResourcePolicy.streams.documents
    guard !isShared, stream.observer == nil else { return resource }
    resource.observer = cookieObserver(of: stream)
    return resource
  }

  /// Forgets the cookies of all streams: another process has removed everything.
  package func forgetCookies() { streamCookies.removeAll() }
}
