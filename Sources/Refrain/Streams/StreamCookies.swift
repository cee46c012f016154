// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The cookies that the responses of streams set, as long as this process runs: of the streams that
/// it reads itself. The streams of a proxy's clients have sessions of their own. Some origins, as
/// Akamai's with `hdntl`, give segments to those alone who send the cookies of the playlist.
///
/// All methods may be called from any thread.
final class StreamCookies: Sendable {
  /// The request with which a stream begins.
  private struct Beginning: Sendable, Hashable {
    var url: URL
    /// Those that grant access: cookies for one account must not reach another one.
    var headers: HeaderFields

    init(_ stream: Resource) {
      url = stream.url
      headers = HeaderFields(
        stream.headers.fields.lazy.filter {
          ["authorization", "cookie"].contains($0.name.lowercased())
        }.map { ($0.name, $0.value) })
    }
  }

  private struct Collection: Sendable {
    let jar: CookieJar
    let observer: ResponseObserver

    init() {
      let jar = CookieJar()
      self.jar = jar
      observer = ResponseObserver { url, headers, _ in
        _ = jar.store(headers.values(of: "Set-Cookie"), from: url, at: Date())
      }
    }
  }

  private static let capacity = 256

  private let collections = Mutex<[Beginning: Collection]>([:])

  /// Returns the cookies of a stream, and what collects them.
  func collection(of stream: Resource) -> (jar: CookieJar, observer: ResponseObserver) {
    let beginning = Beginning(stream)
    return collections.withLock { collections in
      if let known = collections[beginning] { return (known.jar, known.observer) }
      let new = Collection()
      if collections.count >= Self.capacity { collections = [:] }
      collections[beginning] = new
      return (new.jar, new.observer)
    }
  }

  /// Returns the cookies that were collected.
  func all(of stream: Resource) -> [CookieJar.Cookie] {
    let known = collections.withLock { $0[Beginning(stream)] }
    return known?.jar.all(at: Date()) ?? []
  }

  func removeAll() { collections.withLock { $0 = [:] } }
}

extension MediaCache {
  /// Returns the first manifest of a stream as a resource whose responses' cookies are collected; a
  /// shared cache collects none.
  package func collectingCookies(_ stream: Resource) -> Resource {
    guard !isShared, stream.observer == nil else { return stream }
    var resource = stream
    resource.observer = context.streamCookies.collection(of: stream).observer
    return resource
  }

  /// Returns the cookies that the responses of a stream have set in this process, to requests
  /// without a proxy.
  ///
  /// - Parameter stream: its first manifest.
  package func streamCookies(of stream: Resource) -> [CookieJar.Cookie] {
    context.streamCookies.all(of: stream)
  }
}
