// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation

  /// A handle of libcurl, which knows the last challenge that it was sent (RFC 7616 §3.3).
  final class CurlHandle {
    let pointer: UnsafeMutableRawPointer

    /// Nil if there is no memory.
    init?() {
      guard let pointer = curl_easy_init() else { return nil }
      self.pointer = pointer
    }

    deinit { curl_easy_cleanup(pointer) }
  }

  /// The user and password of requests to one origin.
  struct CurlLogin: Hashable {
    private var origin: WebOrigin
    /// Nil: those of `CurlTransport.Settings.credentialsFile`.
    private(set) var password: UserPassword?

    /// Nil if the request has no user and password.
    init?(_ request: RelayedRequest, _ settings: CurlTransport.Settings) {
      let authorization = request.headers["Authorization"]
      password = UserPassword(authorization: authorization)
      guard password != nil || (authorization == nil && settings.credentialsFile != nil),
        let origin = WebOrigin(request.url)
      else { return nil }
      self.origin = origin
    }
  }

  /// Which logins have to use Digest authentication, and the handles that can compute it without
  /// another challenge. Used on the thread of libcurl alone.
  final class DigestLogins {
    private var idle: [CurlLogin: [CurlHandle]] = [:]
    /// The logins, the last used one at the end.
    private var order: [CurlLogin] = []

    private static let mostLogins = 32
    private static let mostHandles = 4

    func contain(_ login: CurlLogin) -> Bool { idle[login] != nil }

    /// Records that the origin offered Digest. Its Basic credentials are not sent again.
    func add(_ login: CurlLogin) {
      if idle[login] == nil { idle[login] = [] }
      order.removeAll { $0 == login }
      order.append(login)
      if order.count > Self.mostLogins { idle[order.removeFirst()] = nil }
    }

    func takeHandle(for login: CurlLogin) -> CurlHandle? { idle[login]?.popLast() }

    /// Keeps a handle whose request was accepted.
    func keep(_ handle: CurlHandle, for login: CurlLogin) {
      add(login)
      if idle[login, default: []].count < Self.mostHandles { idle[login]?.append(handle) }
    }
  }
#endif
