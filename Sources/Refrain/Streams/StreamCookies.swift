// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The cookies that the responses of streams set, as long as this process runs. Some origins, as
/// Akamai's with `hdntl`, give segments to those alone who send the cookies of the playlist.
///
/// All methods may be called from any thread.
final class StreamCookies: Sendable {
  /// The request with which a stream begins.
  struct Beginning: Sendable, Hashable {
    var url: URL
    /// Those that grant access: cookies for one account must not reach another one.
    var headers: HeaderFields

    init(_ stream: Resource) {
      url = stream.url
      headers = stream.headers.grantingAccess
    }
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

extension HeaderFields {
  /// The fields of a request that grant access.
  package var grantingAccess: HeaderFields {
    HeaderFields(
      fields.lazy.filter { ["authorization", "cookie"].contains($0.name.lowercased()) }
        .map { ($0.name, $0.value) })
  }
}

extension MediaCache {
  /// Returns the cookies that the responses of a stream have set in this process.
  ///
  /// - Parameter stream: its first manifest.
  package func cookies(of stream: Resource) -> CookieJar {
    context.streamCookies.jar(of: .init(stream), at: now)
  }

  /// Returns the observer that collects `cookies(of:)`.
  package func cookieObserver(of stream: Resource) -> ResponseObserver {
    cookies(of: stream).observer(StreamCookies.Beginning(stream))
  }

  /// Returns the first manifest of a stream as a resource whose responses' cookies are collected; a
  /// shared cache collects none.
  package func collectingCookies(_ stream: Resource) -> Resource {
    guard !isShared, stream.observer == nil else { return stream }
    var resource = stream
    resource.observer = cookieObserver(of: stream)
    return resource
  }

  /// Forgets the cookies of all streams: another process has removed everything.
  package func forgetCookies() { context.streamCookies.removeAll() }
}
