// SPDX-License-Identifier: MIT

/// One request and what became of it so far.
public struct LoggedRequest: Sendable {
  /// The request as it came.
  public let request: OriginRequest
  /// Counts the requests of the whole server; a request that came later has a higher one.
  public let id: Int
  /// Which of the server's connections it came on.
  public let connection: Int
  /// `nil` until the head was sent, and where the answer had none.
  public internal(set) var status: Int?
  /// Body bytes that the socket took, without the framing of chunks.
  public internal(set) var bodyBytesSent: Int64 = 0
  public internal(set) var outcome = Outcome.sending

  public enum Outcome: Sendable {
    case sending
    /// The socket took all of the answer, up to its end or to where the script ended it.
    case sent
    /// The connection closed before that: the client left, or the server was stopped.
    case abandoned
  }
}

/// What the origin saw and sent of one path.
///
/// A byte counts as sent when the write that carried it (64 KiB at most, 256 KiB of a file without
/// faults) was taken by the socket completely. That the client received it is not said: the
/// buffers of two sockets lie between.
public struct OriginLog: Sendable {
  /// In the order in which they came.
  public internal(set) var requests: [LoggedRequest] = []
  /// Body bytes of all answers.
  public internal(set) var bodyBytesSent: Int64 = 0
  /// Which bytes of the resource were sent, in any generation.
  public internal(set) var sent = RangeSet<Int64>()
  /// Bytes of the resource that were sent again within one generation; the third time counts again.
  public internal(set) var bytesSentTwice: Int64 = 0
  /// How many bytes `sent` has.
  public var distinctBytesSent: Int64 { sent.total }
  /// Connections that asked for the path.
  public internal(set) var connections = 0
  /// Those of them that are open now.
  public internal(set) var openConnections = 0
  /// Answers that are stalled or delayed now.
  public internal(set) var stalled = 0
  /// Answers under way now.
  public var running: Int { requests.count { $0.outcome == .sending } }
}

/// What tells one generation's bytes from another's, for counting.
struct GenerationKey: Sendable, Hashable {
  /// Which call of `serve` brought it.
  let serial: Int
  let etag: String?
  let lastModified: String?
}
