// SPDX-License-Identifier: MIT

public import Foundation

/// A place in a body. A fault at a place that the response does not contain does not occur.
public enum BodyPosition: Sendable, Hashable {
  /// Before the byte at this offset of the resource.
  case resource(Int64)
  /// After this many bytes of the body.
  case body(Int64)
}

/// The value of `Retry-After` (RFC 9110 §10.2.3).
public enum RetryAfter: Sendable, Hashable {
  case seconds(Int)
  case date(Date)
}

/// One thing that is wrong with a response. Several may be combined; they apply in the order given.
public enum Fault: Sendable {
  // MARK: Instead of the answer

  /// Closes the connection without a response.
  case closeWithoutAnswer
  /// Sends these bytes, which should not be HTTP, and closes the connection.
  case garbage([UInt8])
  /// Another status with its own small body.
  case status(Int, headers: [Field] = [], body: [UInt8] = [])
  /// 301, 302, 303, 307 or 308 with this `Location`: absolute, or relative to the request.
  case redirect(Int, to: String)

  // MARK: The resource

  /// Responds from another resource: a new generation if bytes and validators differ. With
  /// `RequestMatcher.from(k)` the resource changes at request k.
  case answerFrom(OriginResource)
  /// Another ETag (`W/"…"`: a weak one) or none, for conditions as well as in the response.
  case etag(String?)
  /// Simulates another server behind the same name with the same bytes: appends this to the
  /// resource's ETag, if it has one.
  case otherServer(String)
  /// Another Last-Modified or none, for conditions as well as in the response.
  case lastModified(Date?)
  /// Neither ETag nor Last-Modified.
  case noValidators
  /// Responds as if there were no `Range` field; still sends `Accept-Ranges: bytes`.
  case ignoreRange
  /// Responds as if there were no `If-Range` field: with a range of whatever version there is.
  case ignoreIfRange

  // MARK: The head

  /// No response for this long, or (`nil`) until `OriginServer.release(_:)`.
  case delay(Duration?)
  /// A 1xx response before the real one.
  case informational(Int, headers: [Field] = [])
  /// Adds or replaces (`nil`: removes) a field after everything else is decided.
  case header(String, String?)
  /// Another status above the response as it is.
  case statusLine(Int)
  /// Padding fields with this total size, 1 KB each.
  case hugeHeaders(bytes: Int)
  /// `Content-Range` with these numbers added to its start, its end and its total.
  case wrongContentRange(start: Int64 = 0, end: Int64 = 0, total: Int64 = 0)
  /// `Content-Length` with this added: above 0 the body is shorter than declared and the
  /// connection closes after it, below 0 it is longer than declared.
  case wrongContentLength(by: Int64)

  // MARK: The body

  /// An honest 206 with at most this many bytes of the range, which RFC 9110 §15.3.7 allows.
  case atMost(Int64)
  /// A body cut to this many bytes with a matching `Content-Length`, under the status and
  /// `Content-Range` of the full one.
  case truncatedBody(to: Int64)
  /// The body followed by these bytes, with a matching `Content-Length`.
  case extendedBody([UInt8])
  /// Chunked, without `Content-Length`.
  case chunked
  /// Without a length, ended by closing the connection, as HTTP/1.0 did.
  case toTheClose
  /// Unrequested gzip: a `Content-Encoding` and a body in one gzip member. The body is built in
  /// memory.
  case gzip
  /// The single range as `multipart/byteranges` with one part.
  case multipart

  // MARK: The sending

  /// Closes the connection at the position; `reset`: with RST, which may discard bytes that were
  /// sent but not received yet.
  case drop(at: BodyPosition, reset: Bool = false)
  /// Sends nothing for this long, or (`nil`) until `OriginServer.release(_:)`.
  case stall(at: BodyPosition, for: Duration? = nil)
  /// Sends at this rate from the position on, for this many bytes or (`nil`) to the end.
  case dribble(bytesPerSecond: Int, from: BodyPosition = .body(0), for: Int64? = nil)
}

extension Fault {
  /// 503 with an optional `Retry-After`.
  public static func unavailable(_ retryAfter: RetryAfter? = nil) -> Fault {
    .status(503, retryAfter)
  }

  /// 429 with an optional `Retry-After`.
  public static func tooManyRequests(_ retryAfter: RetryAfter? = nil) -> Fault {
    .status(429, retryAfter)
  }

  /// 401 with the challenge that it requires (RFC 9110 §15.5.2).
  public static var unauthorized: Fault {
    .status(401, headers: [Field("WWW-Authenticate", "Bearer realm=\"origin\"")])
  }

  /// The resource's ETag replaced by a weak one.
  public static func weakETag(_ opaque: String = "weak") -> Fault { .etag("W/\"\(opaque)\"") }

  /// A status with an optional `Retry-After`.
  public static func status(_ status: Int, _ retryAfter: RetryAfter?) -> Fault {
    switch retryAfter {
    case .seconds(let seconds):
      .status(status, headers: [Field("Retry-After", "\(seconds)")])
    case .date(let date):
      .status(status, headers: [Field("Retry-After", HTTPDate.format(date))])
    case nil:
      .status(status, headers: [])
    }
  }
}
