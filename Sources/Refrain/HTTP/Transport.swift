// SPDX-License-Identifier: MIT
public import Foundation

/// Performs one HTTP GET. It follows no redirect, keeps no cookie, decodes no content coding and
/// retries nothing: all that is decided above it.
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
public struct OriginRequest: Sendable, Hashable {
  public var url: URL
  public var headers: HTTPFields

  public init(url: URL, headers: HTTPFields = [:]) {
    self.url = url
    self.headers = headers
  }
}

/// The head of an origin's answer, and its body as it arrives.
public struct OriginResponse: Sendable {
  public var status: Int
  public var headers: HTTPFields
  /// The body's bytes as they arrive. Iterated at most once.
  public var body: any AsyncSequence<Data, any Error> & Sendable

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
    /// No connection could be made: no route, no name, refused, TLS failed, connecting timed out.
    case unreachable
    /// The connection broke before the response was complete.
    case connectionLost
    /// The connection was silent for longer than allowed.
    case timedOut
    /// What came was not HTTP, or broke its rules.
    case malformed
    /// The request is not one that can be sent: its URL has no host, or is neither http nor https,
    /// or a header has characters that no header may have. Trying again cannot help.
    case badURL
  }

  public var code: Code
  /// One sentence that says what happened, for people.
  public var reason: String

  public init(_ code: Code, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  public var description: String { reason }
}
