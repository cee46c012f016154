// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

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
  package var isTimeout = false
  package var isForLackOfDescriptors = false
  /// Whether the limit, or the disk, has no room for the bytes or the pin.
  package var hasNoRoom = false
  /// Nil: the code decides (`failure`), or, where `OriginExchange.run` throws it, no retry helps.
  var retry: RetryPolicy.Failure?
  /// Whether the origin responded in a content coding that the request declined: a client that can
  /// decode it may use the response as it is.
  package var isEncoded = false
  /// Whether the stored response is unsuitable for a request with cookies.
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

/// A response as the origin sent it in place of a resource that can be stored, for readers that
/// pass it on (`ReadTerms.passesOnErrors`): an error, a redirect that is not followed, a body in a
/// content coding. Those that waited for the same request receive the same one with their error; a
/// later reader asks the origin again. May be used from any thread.
package final class ErrorResponse: Sendable, Hashable {
  /// The longest body that is read before the response is passed on, in bytes.
  static let longestBody = 64 << 10

  package let status: Int
  package let headers: HeaderFields
  /// The beginning of the body; all of it unless there is a rest.
  package let body: Data
  /// Returns the next bytes of the rest of a longer body, for the first client that takes the
  /// response, one call at a time; nil at the end. Releasing it ends the response. Throws the
  /// transport's error; `CancellationError`, also if the origin is silent for too long.
  package let rest: (@Sendable () async throws -> Data?)?
  package let requestTime: Date
  package let responseTime: Date
  /// The answered request, as its reader gave it.
  private let resource: Resource
  private let isTaken = Atomic(false)

  init(
    status: Int, headers: HeaderFields, requestTime: Date, responseTime: Date, body: Data,
    rest: (@Sendable () async throws -> Data?)?, to resource: Resource
  ) {
    (self.status, self.headers) = (status, headers)
    (self.requestTime, self.responseTime) = (requestTime, responseTime)
    (self.body, self.rest, self.resource) = (body, rest, resource)
  }

  /// Takes the response for a client that requested `other` (RFC 9111 §3). Returns whether another
  /// client, whose request ran at the same time, has received it; nil if this one must not.
  package func take(for other: Resource, isShared: Bool) -> Bool? {
    guard resource.isAsked(as: other) else { return nil }
    guard isTaken.exchange(true, ordering: .relaxed) else { return false }
    guard rest == nil, !headers.setsCookie else { return nil }
    guard isShared else { return true }
    let control = CacheControl(headers, isShared: true)
    return control.noStore || control.isPrivate ? nil : true
  }

  /// Returns how long a shared cache may give the response to others (RFC 9111 §3), and the fields
  /// to keep; nil if the origin does not state that it may, or the response is long.
  package func reuse() -> (Freshness, HeaderFields)? {
    guard rest == nil, !WholeResponse.statuses.contains(status), status != 304,
      !Self.requestFaults.contains(status), headers.contentCodings.isEmpty
    else { return nil }
    let keeper = Freshness.Keeper(
      isShared: true, isAuthorized: Credentials.of(resource) != nil,
      hasCookies: resource.headers["Cookie"] != nil,
      isSecret: resource.policy.group?.isSecret == true)
    let freshness = Freshness(
      status: status, headers: headers, requestTime: requestTime, responseTime: responseTime,
      keeper: keeper)
    guard !freshness.noStore, freshness.isGuessed != true, freshness.isFresh(at: responseTime)
    else { return nil }
    let kept = StoredFields.merged([:], with: headers, isConfirmation: false)
    // Without them the response says something else; over-long ones are not kept.
    for name in ["Location", "WWW-Authenticate"] where headers[name] != nil && kept[name] == nil {
      return nil
    }
    return (freshness, kept)
  }

  /// Statuses that say what is wrong with one request, by fields that are not part of the key: one
  /// client must not bring them on all others.
  private static let requestFaults: Set<Int> = [
    400, 408, 411, 412, 413, 414, 415, 416, 417, 421, 425, 426, 428, 429, 431,
  ]

  package static func == (left: ErrorResponse, right: ErrorResponse) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
