// SPDX-License-Identifier: MIT

/// One request and its outcome so far.
public struct LoggedRequest: Sendable {
  /// The request as received.
  public let request: ReceivedRequest
  /// Counts the requests of the whole server; a later request has a higher number.
  public let id: Int
  /// The number of the connection that carried it.
  public let connection: Int
  /// `nil` until the head is sent, and for a response without one.
  public internal(set) var status: Int?
  /// Body bytes accepted by the socket, without the framing of chunks.
  public internal(set) var bodyBytesSent: Int64 = 0
  public internal(set) var outcome = Outcome.sending

  public enum Outcome: Sendable {
    case sending
    /// The socket accepted all of the response, up to its end or to where the script ended it.
    case sent
    /// The connection closed before that: the client left, or the server was stopped.
    case abandoned
  }
}

/// The requests for one path and the bytes sent for it.
///
/// A byte counts as sent when the socket has accepted all of the write that carried it, at most
/// 64 KiB. The client may not have received it: the buffers of two sockets lie between.
public struct OriginLog: Sendable {
  /// In order of arrival.
  public internal(set) var requests: [LoggedRequest] = []
  /// Body bytes of all responses.
  public internal(set) var bodyBytesSent: Int64 = 0
  /// The bytes of the resource that were sent, in any generation.
  public internal(set) var sent = RangeSet<Int64>()
  /// Bytes of the resource sent again within one generation; each further time counts again.
  public internal(set) var bytesSentTwice: Int64 = 0
  /// The number of bytes in `sent`.
  public var distinctBytesSent: Int64 { sent.total }
  /// Connections that requested the path.
  public internal(set) var connections = 0
  /// Those of them that are open now.
  public internal(set) var openConnections = 0
  /// Responses that are stalled or delayed now.
  public internal(set) var stalled = 0
  /// Responses in progress now.
  public var running: Int { requests.count { $0.outcome == .sending } }
}

/// Identifies a generation's bytes, for counting.
struct GenerationKey: Sendable, Hashable {
  /// The call of `serve` that set the resource.
  let serial: Int
  let etag: String?
  let lastModified: String?
}
