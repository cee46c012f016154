// SPDX-License-Identifier: MIT
import Foundation
public import Refrain

/// The outcome of one request to the proxy.
public struct ServedRequest: Sendable, Hashable, Codable {
  /// The source of the response.
  public enum Source: String, Sendable, Hashable, Codable, CaseIterable {
    /// All of it from the cache, without a request to the origin.
    case hit
    /// From the cache, after the origin confirmed it.
    case revalidated
    /// Partly from the cache, partly from the origin.
    case partial
    /// From the origin, and stored.
    case miss
    /// From the origin, relayed unchanged and not stored.
    case relayed
    /// From the cache although stale: the origin could not be reached, or responded with an error
    /// that may pass.
    case stale
    /// The proxy's own response: a refusal, an error.
    case proxy
  }

  public var method: String
  /// The URL requested from the origin; if there was none, the target as received. Without the
  /// proxy's token.
  public var url: String
  public var status: Int
  /// The range that was sent; nil for the whole.
  public var range: ByteRange?
  /// Body bytes passed to the connection.
  public var bytesSent: Int64
  public var source: Source
  /// The part of `bytesSent` that was stored before the request.
  public var bytesFromCache: Int64 = 0
  /// Seconds from the end of the request's head to the last byte of the response.
  public var seconds: Double
  /// The client's numeric address.
  public var client: String
  /// As in `HTTP/1.1`; nil without `CacheProxy.Configuration.logsClientFields`.
  public var version: String?
  /// The value of `Referer`, without the proxy's token, and shortened if it is long; nil without
  /// `logsClientFields`.
  public var referrer: String?
  /// The value of `User-Agent`, likewise.
  public var userAgent: String?
  /// The error, in one sentence; nil if there was none. A client that left is not an error.
  public var error: String?

  public init(
    method: String, url: String, status: Int, range: ByteRange? = nil, bytesSent: Int64 = 0,
    source: Source, seconds: Double = 0, client: String, error: String? = nil
  ) {
    (self.method, self.url, self.status, self.range) = (method, url, status, range)
    (self.bytesSent, self.source, self.seconds) = (bytesSent, source, seconds)
    (self.client, self.error) = (client, error)
  }
}
