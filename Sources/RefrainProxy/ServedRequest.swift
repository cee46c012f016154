// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

/// What became of one request to the proxy.
public struct ServedRequest: Sendable, Hashable, Codable {
  /// Where the answer came from.
  public enum Source: String, Sendable, Hashable, Codable {
    /// All of it from the cache, without asking the origin.
    case hit
    /// From the cache, once the origin had confirmed it.
    case revalidated
    /// Some of it from the cache, some from the origin.
    case partial
    /// From the origin, and kept.
    case miss
    /// From the origin, passed on as it came and not kept.
    case relayed
    /// From the cache though it is stale, for the origin could not be reached.
    case stale
    /// The proxy's own answer: a refusal, an error.
    case proxy
  }

  public var method: String
  /// The URL that was asked of the origin; where there was none, the target as it was sent. Without
  /// the proxy's token.
  public var url: String
  public var status: Int
  /// The one range that was answered; nil for the whole, or several.
  public var range: ByteRange?
  /// Bytes of body that were handed to the connection.
  public var bytesSent: Int64
  public var source: Source
  /// Seconds from the end of the request's head to the last byte of the answer.
  public var seconds: Double
  /// The client's numeric address.
  public var client: String
  /// What went wrong, one sentence; nil where nothing did. A client that left is no error.
  public var error: String?

  public init(
    method: String, url: String, status: Int, range: ByteRange?, bytesSent: Int64, source: Source,
    seconds: Double, client: String, error: String?
  ) {
    self.method = method
    self.url = url
    self.status = status
    self.range = range
    self.bytesSent = bytesSent
    self.source = source
    self.seconds = seconds
    self.client = client
    self.error = error
  }
}
