// SPDX-License-Identifier: MIT
import Foundation
package import Refrain
import RefrainLocks

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
