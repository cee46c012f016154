// SPDX-License-Identifier: MIT
public import Foundation

/// Performs one HTTP GET. It follows no redirect, keeps no cookie, decodes no content coding and
/// retries nothing: all that is decided above it. But where a connection that was kept open turns out
/// to be closed, without a byte of an answer, the request may go out once more on a new one (RFC 9112
/// §9.3.1).
public protocol Transport: Sendable {
  /// Sends the request and returns as soon as the head of the response is there.
  ///
  /// The body is pulled: while nobody asks for the next chunk, the transport stops reading from
  /// the connection once its small buffer is full. Dropping the body, or cancelling the task that
  /// iterates it, closes the connection.
  ///
  /// - Throws: `TransportError`; `CancellationError` when the task is cancelled.
  func send(_ request: OriginRequest) async throws -> OriginResponse
}

/// One GET to an origin.
public struct OriginRequest: Sendable {
  public var url: URL
  public var headers: HTTPFields
  /// For whom the bytes are.
  public var purpose: Purpose = .playback
  /// Which networks may carry it: `NetworkPolicy` has it for each purpose.
  public var access = NetworkPolicy.Access()
  /// While the device has no network, the transport waits for one, if it can tell, and says so to
  /// `onConnectivity`; otherwise it fails at once.
  public var waitsForConnectivity = false
  /// Called by a transport that begins or ends to wait for a network, before `send` returns, on no
  /// particular thread. While it waits, nothing is expected of it: no limit of time holds.
  public var onConnectivity: (@Sendable (Connectivity) -> Void)?

  /// For whom the bytes of a request are.
  public enum Purpose: String, Sendable, Hashable {
    /// A player waits for them, or will in a moment.
    case playback
    /// Nobody does yet: a prefetch, or the filling of what a player has left out.
    case prefetch
  }

  /// What a transport tells that waits for a network.
  public enum Connectivity: String, Sendable, Hashable {
    /// There is no network; the request goes on by itself once there is.
    case waiting
    /// There is one again, and an answer is expected.
    case available
  }

  public init(url: URL, headers: HTTPFields = [:]) {
    self.url = url
    self.headers = headers
  }
}

/// Two requests are the same that ask for the same; who is told of a wait makes no difference.
extension OriginRequest: Hashable {
  public static func == (left: OriginRequest, right: OriginRequest) -> Bool {
    left.url == right.url && left.headers == right.headers && left.purpose == right.purpose
      && left.access == right.access && left.waitsForConnectivity == right.waitsForConnectivity
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(url)
    hasher.combine(headers)
    hasher.combine(purpose)
    hasher.combine(access)
    hasher.combine(waitsForConnectivity)
  }
}

/// The head of an origin's answer, and its body as it arrives.
public struct OriginResponse: Sendable {
  public var status: Int
  public var headers: HTTPFields
  /// The body's bytes as they arrive. Iterated at most once.
  public var body: any AsyncSequence<Data, any Error> & Sendable
  /// Whether the next bytes of the body are there, so that nobody has to wait for them; nil where the
  /// transport cannot tell.
  var hasMore: (@Sendable () -> Bool)?

  public init(
    status: Int, headers: HTTPFields, body: any AsyncSequence<Data, any Error> & Sendable
  ) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

/// Why no response, or no whole response, came.
public struct TransportError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: String, Sendable, Hashable {
    /// No connection could be made: no route, no answer from the name server, TLS failed, connecting
    /// timed out.
    case unreachable
    /// There is no host of that name.
    case unknownHost
    /// The host is there, and nobody listens on the port.
    case refused
    /// The certificate could not be verified, or is another host's.
    case untrusted
    /// The connection broke before the response was complete.
    case connectionLost
    /// The connection was silent for longer than allowed.
    case timedOut
    /// What came was not HTTP, or broke its rules.
    case malformed
    /// The request is not one that can be sent: its URL has no host, or is neither http nor https,
    /// or a header has characters that no header may have. Trying again cannot help.
    case badURL
    /// There is a network, but none that `OriginRequest.access` allows.
    case networkNotAllowed
  }

  public var code: Code
  /// One sentence that says what happened, for people.
  public var reason: String
  /// The device has no network at all.
  var isForLackOfNetwork = false
  /// The name of the host has no address, for whichever reason.
  var isForLackOfAddress = false
  /// Connecting took too long.
  package var isForLackOfTime = false

  public init(_ code: Code, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  public var description: String { reason }
}
