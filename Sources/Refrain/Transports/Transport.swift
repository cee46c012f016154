// SPDX-License-Identifier: MIT
public import Foundation

/// Performs one HTTP GET. It follows no redirect, stores no cookie, decodes no content coding and
/// retries nothing. If a kept connection turns out to be closed, without a byte of a response, it
/// may resend the request on a new one (RFC 9112 §9.3.1).
///
/// A user and password are Basic credentials in Authorization. A transport may answer a 401 that
/// offers Digest authentication (RFC 7616) with them, and then sends no Basic ones to that origin.
///
/// A transport whose library decodes every body must refuse an encoded 206, whose decoded bytes are
/// not those of the range. It may pass on a 200 without the fields that describe the encoded body.
public protocol Transport: Sendable {
  /// Sends the request and returns as soon as the head of the response has arrived.
  ///
  /// The body is pulled: while nobody requests the next chunk, the transport stops reading from the
  /// connection once its small buffer is full. A transport that cannot stop may end the body of a
  /// part (206) with a strong validator by an error, after the bytes received. Releasing the body,
  /// or cancelling the task that iterates it, closes the connection.
  ///
  /// - Throws: `TransportError`; `CancellationError` when the task is cancelled.
  func send(_ request: OriginRequest) async throws -> OriginResponse
}

/// One GET to an origin. Within the package, also a client's request that is passed on.
public struct OriginRequest: Sendable {
  public var url: URL
  public var headers: HeaderFields
  /// The purpose of the requested bytes.
  public var purpose: Purpose = .playback
  /// The networks that may carry the request, from `NetworkPolicy` for its purpose.
  public var access = NetworkPolicy.Access()
  /// Whether a transport that can detect a missing network waits for one, and reports that to
  /// `onConnectivity`; otherwise it fails at once.
  public var waitsForConnectivity = false
  /// The rules by which the response may be a document, which may come decoded.
  var documents: (any DocumentRules)?
  /// Whether the URL of the resource, before redirects, names a document.
  var expectsDocument = false
  /// Whether the request fails (`TransportError.Cause.privateAddress`) if the host's name leads to
  /// an address of a private network: over libcurl, where no proxy resolves the name.
  package var requiresPublicAddress = false
  /// Called by a transport that begins or stops waiting for a network, before `send` returns, on no
  /// particular thread. No timeout applies during the wait.
  public var onConnectivity: (@Sendable (Connectivity) -> Void)?

  /// Methods other than GET, and bodies, are sent only by a `RelayingTransport`.
  package var method = "GET"
  package var body: Body?
  /// The longest silence in either direction; nil: other code watches it.
  package var longestSilence: Duration?
  /// Receives the status and the fields of each interim response (1xx, RFC 9110 §15.2), on no
  /// particular thread; must not block. URLSession passes none on.
  package var onInterim: (@Sendable (Int, HeaderFields) -> Void)?
  /// Whether the request is a client's, which receives the response as it is.
  let isRelayed: Bool

  package struct Body: Sendable {
    package var length: Int64
    /// Returns the next part, not empty, as the origin takes them, until `length` bytes have come.
    package var next: @Sendable () async throws -> Data

    package init(length: Int64, next: @escaping @Sendable () async throws -> Data) {
      self.length = length
      self.next = next
    }
  }

  /// The purpose of the bytes of a request.
  public enum Purpose: String, Sendable, Hashable {
    /// A player waits for them, or will in a moment.
    case playback
    /// Nobody waits for them yet: a prefetch, or filling what a player has left out.
    case prefetch
  }

  /// The state of a transport that waits for a network.
  public enum Connectivity: String, Sendable, Hashable {
    /// There is no network; the request continues by itself once there is.
    case waiting
    /// A network is available again, and a response is expected.
    case available
  }

  public init(url: URL, headers: HeaderFields = [:]) {
    self.url = url
    self.headers = headers
    isRelayed = false
  }

  /// - Parameter headers: without those that `body` determines.
  package init(relaying method: String, url: URL, headers: HeaderFields, body: Body? = nil) {
    (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
    longestSilence = .seconds(60)
    isRelayed = true
  }
}

/// Compares what a GET requests, for what, and over which networks: nothing else.
extension OriginRequest: Hashable {
  public static func == (left: OriginRequest, right: OriginRequest) -> Bool {
    left.url == right.url && left.headers == right.headers && left.purpose == right.purpose
      && left.access == right.access && left.waitsForConnectivity == right.waitsForConnectivity
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(url) }
}

/// The head of an origin's response, and its body as it arrives.
public struct OriginResponse: Sendable {
  public var status: Int
  public var headers: HeaderFields
  /// The body's bytes as they arrive. Iterated at most once.
  public var body: any AsyncSequence<Data, any Error> & Sendable
  /// Returns whether the next bytes are available without waiting; nil if that is unknown.
  var hasMore: (@Sendable () -> Bool)?
  var isDecoded = false

  public init(
    status: Int, headers: HeaderFields, body: any AsyncSequence<Data, any Error> & Sendable
  ) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

/// Why no response, or no whole response, arrived.
public struct TransportError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: String, Sendable, Hashable {
    /// No connection could be made: no route, no response from the name server, TLS failed,
    /// connecting timed out.
    case unreachable
    /// There is no host of that name. libcurl cannot tell: it reports `unreachable`.
    case unknownHost
    /// The host exists, but refuses connections to the port.
    case refused
    /// The certificate could not be verified, or is another host's.
    case untrusted
    /// The connection broke before the response was complete.
    case connectionLost
    /// The connection was silent for longer than allowed.
    case timedOut
    /// The response was not HTTP, or violated it.
    case malformed
    /// The request cannot be sent: its URL has no host, or is neither http nor https, or a header
    /// has invalid characters. Retrying cannot help.
    case badURL
    /// There is a network, but none that `OriginRequest.access` allows.
    case networkNotAllowed
  }

  public var code: Code
  /// The cause, in one sentence for people.
  public var reason: String
  package var cause: Cause?

  package enum Cause: Sendable, Hashable {
    case noNetwork
    /// The host's name is misspelled, or no name server responded.
    case noAddress
    case privateAddress
    /// The transport ended a response that was not read: the rest can be requested at once.
    case unread
  }

  public init(_ code: Code, _ reason: String) { self.init(code, reason, cause: nil) }

  package init(_ code: Code, _ reason: String, cause: Cause?) {
    (self.code, self.reason, self.cause) = (code, reason, cause)
  }

  static func unreachable(_ host: String, _ what: String, cause: Cause? = nil) -> TransportError {
    TransportError(.unreachable, "\(host) \(what).", cause: cause)
  }

  static func lost(_ host: String, _ why: String) -> TransportError {
    TransportError(.connectionLost, "The connection to \(host) broke: \(why).")
  }

  static func malformed(_ host: String, _ what: String) -> TransportError {
    TransportError(.malformed, "\(host) sent an invalid HTTP response: \(what).")
  }

  public var description: String { reason }
}

extension OriginRequest {
  /// Checks that the request can be sent; every transport calls this first. The error omits the
  /// value of a bad header, since it may be a password.
  func check() throws(TransportError) {
    let scheme = url.scheme?.lowercased()
    guard scheme == "http" || scheme == "https", url.host()?.isEmpty == false,
      url.port.map({ (1...65_535).contains($0) }) ?? true
    else {
      let text = url.absoluteString.prefix { $0 != "?" }.prefix(200)
      throw TransportError(
        .badURL, "\(text) is not an http or https URL with a host and a valid port.")
    }
    for field in headers.fields where !field.isValid {
      throw TransportError(
        .badURL, "The header \(String(reflecting: field.name)) contains invalid characters.")
    }
  }
}

extension MediaCacheError {
  package init(_ error: TransportError, _ purpose: OriginRequest.Purpose) {
    let (code, retry, remedy): (Code, RetryPolicy.Failure?, String) =
      switch error.code {
      case .unreachable where error.cause == .noAddress:
        (.unreachable, .invalid, "Check the spelling of the URL, and the network.")
      case .unreachable, .connectionLost, .timedOut:
        (.unreachable, .network, "Check the network and the URL.")
      case .unknownHost: (.unreachable, .permanent, "Check the spelling of the URL.")
      case .refused: (.unreachable, .invalid, "Check the port, and that the server is running.")
      case .untrusted:
        (.unreachable, .permanent, "Check the URL, this machine's clock and its certificates.")
      case .malformed:
        (.invalidResponse, .permanent, "Check the port and the scheme of the URL.")
      case .badURL: (.badURL, nil, "Check the URL.")
      case .networkNotAllowed:
        (.networkNotAllowed, nil, "Allow it in MediaCache.Configuration.network.\(purpose).")
      }
    self.init(code, error.reason, remedy: remedy)
    self.retry = retry
    isTimeout = error.code == .timedOut
  }
}

/// A transport whose `send` also passes on clients' requests. It may return before the body has
/// been sent, and also throws the errors of `OriginRequest.Body.next`.
package protocol RelayingTransport: Transport {}
