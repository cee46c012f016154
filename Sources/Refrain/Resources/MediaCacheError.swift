// SPDX-License-Identifier: MIT

/// The one error that Refrain throws (besides `CancellationError`): a code to act on, what failed
/// and why, and what to do about it.
public struct MediaCacheError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: String, Sendable, Hashable, Codable {
    /// The URL cannot be requested: no host, or neither http nor https.
    case badURL
    /// A range or an offset lies outside the resource, or is negative.
    case badRange
    /// The origin could not be reached, or stopped responding, for as long as `RetryPolicy` allows.
    case unreachable
    /// The device has a network, but none that `MediaCache.Configuration.network` allows for this
    /// purpose (playback or prefetching).
    case networkNotAllowed
    /// The cache may make no request (`MediaCache.Configuration.offline`), and the bytes wanted are
    /// not stored.
    case offline
    /// The origin responded with an error status, which is in `status`.
    case status
    /// The origin's response contradicts HTTP, the request or itself; or each response is of another
    /// version, and none arrives to its end.
    case invalidResponse
    /// A redirect that is not followed: one too many, a loop, a bad target, or from https to http.
    case redirect
    /// The resource changed at the origin after this reader had begun, so that further bytes would
    /// belong to another version; or a live stream broke off. Open the resource again.
    case resourceChanged
    /// The cache directory, or a file in it, cannot be used.
    case storage
    /// Another process, or a reader of this one, uses the entry.
    case inUse
    /// The reader or the cache was closed.
    case closed
  }

  public var code: Code
  /// The failure and its cause, in one sentence.
  public var reason: String
  /// The action that may help the user, in one sentence; may be empty.
  public var remedy: String
  /// The origin's status code, if it sent one.
  public var status: Int?
  /// Whether a wait took too long.
  package var isTimeout = false
  /// Whether this program had no descriptor left for a connection.
  package var isForLackOfDescriptors = false
  /// Whether the limit, or the disk, has no room for the bytes or the pin.
  package var hasNoRoom = false
  /// The retry behaviour that the transport or the fetch requires; nil: the code decides.
  var retry: RetryPolicy.Failure?

  /// The error of a request to which nothing has come.
  var withoutFirstByte: MediaCacheError {
    var error = self
    if isTimeout { error.retry = .silent }
    return error
  }
  /// Whether the origin responded in a content coding that the request declined: a client that can
  /// decode it may use the response as it is.
  package var isEncoded = false
  /// Whether the stored response is unsuitable for a request with cookies
  /// (`ReadTerms.hasCookies`).
  package var isPersonal = false
  /// The origin's response, for readers that pass it on (`ReadTerms.passesOnErrors`).
  package var response: ErrorResponse?

  public init(_ code: Code, _ reason: String, remedy: String = "", status: Int? = nil) {
    self.code = code
    self.reason = reason
    self.remedy = remedy
    self.status = status
  }

  /// The error without the response, which events must not keep in memory.
  var withoutResponse: MediaCacheError {
    var error = self
    error.response = nil
    return error
  }

  public var description: String { remedy.isEmpty ? reason : "\(reason) \(remedy)" }

  static let offline = MediaCacheError(
    .offline, "The requested bytes are not stored, and no request is sent while offline.",
    remedy: "Go online, or prefetch the resource beforehand.")
}
