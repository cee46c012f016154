// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// The one error that Refrain throws besides `CancellationError`.
public struct MediaCacheError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: String, Sendable, Hashable, Codable {
    /// The URL cannot be requested: no host, or neither http nor https.
    case badURL
    /// A range or an offset lies outside the resource, or is negative.
    case badRange
    /// The origin could not be reached, or stopped responding, for as long as `RetryPolicy` allows.
    case unreachable
    /// The device has no network that `MediaCache.Configuration.network` allows for this purpose.
    case networkNotAllowed
    /// The bytes are not stored, and no request may be made (`MediaCache.Configuration.offline`).
    case offline
    /// The origin responded with an error status, which is in `status`.
    case status
    /// The origin's response contradicts HTTP, the request or itself, or the response before.
    case invalidResponse
    /// A redirect that is not followed: one too many, a loop, a bad target, or from https to http.
    case redirect
    /// The resource changed at the origin after this reader had begun, or a live stream broke off.
    /// Open the resource again.
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
  /// Whether the limit, or the disk, has no room for the bytes or the pin.
  package var hasNoRoom = false
  /// Nil: the code decides (`failure`), or, where an exchange throws it, no retry helps.
  var retry: RetryPolicy.Failure?
  /// Whether the response has a content coding that the request declined, and a client may decode.
  package var isEncoded = false
  /// The origin's response, for readers that pass it on (`ReadTerms.passesOnErrors`).
  package var response: HandedResponse?

  public init(_ code: Code, _ reason: String, remedy: String = "", status: Int? = nil) {
    (self.code, self.reason, self.remedy, self.status) = (code, reason, remedy, status)
  }

  /// For events, which must not keep the response in memory.
  var withoutResponse: MediaCacheError {
    var error = self
    error.response = nil
    return error
  }

  public var description: String { remedy.isEmpty ? reason : "\(reason) \(remedy)" }

  static let offline = MediaCacheError(
    .offline, "The requested bytes are not stored, and no request is sent while offline.",
    remedy: "Go online, or prefetch the resource beforehand.")

  package static let personal = MediaCacheError(
    .offline, "The response is not for this request.", remedy: "Send the request to the origin.")

  /// Whether a shared cache must not store the response, or give it to this reader.
  package var isPersonal: Bool { withoutResponse == .personal }
}

/// A response that is not stored, as the origin sent it, whole and as it arrives: for the reader that
/// asked, and a short error or redirect for all that wait for it (`ReadTerms.passesOnErrors`).
package final class HandedResponse: Sendable, Hashable {
  /// The longest body of an error that is read before the response is passed on, in bytes.
  static let longestBody = 64 << 10

  package let status: Int
  package let headers: HeaderFields
  /// The beginning of the body; all of it unless there is a rest.
  package let body: Data
  /// Returns the next bytes of the body, for the first client that takes the response, one
  /// call at a time; nil at the end. Releasing it ends the response. Throws the transport's error,
  /// or `MediaCacheError` if the origin is silent for too long; `CancellationError`.
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
  /// client has taken it; nil if this one must not.
  package func take(for other: Resource, isShared: Bool) -> Bool? {
    guard resource.isAsked(as: other) else { return nil }
    guard isTaken.exchange(true, ordering: .relaxed) else { return false }
    guard rest == nil, !headers.setsCookie else { return nil }
    let control = CacheControl(headers, isShared: true)
    return isShared && (control.noStore || control.isPrivate) ? nil : true
  }

  /// Returns how long a shared cache may give the response to others as the origin states (RFC 9111
  /// §3), and the fields to keep; nil if it may not, or the response is long.
  package func reuse() -> (Freshness, HeaderFields)? {
    guard rest == nil, !Self.unfit.contains(status), headers.contentCodings.isEmpty else {
      return nil
    }
    let freshness = Freshness(
      status: status, headers: headers, requestTime: requestTime, responseTime: responseTime,
      keeper: Freshness.Keeper(
        isShared: true, isAuthorized: Credentials.of(resource) != nil,
        hasCookies: resource.headers["Cookie"] != nil,
        isSecret: resource.policy.group?.isSecret == true))
    let kept = StoredFields.merged([:], with: headers, isConfirmation: false)
    // Over-long fields are not kept. Without these the response says something else.
    let isWhole = ["Location", "WWW-Authenticate"].allSatisfy { kept[$0] == headers[$0] }
    guard isWhole, !freshness.noStore, freshness.isGuessed != true,
      freshness.isFresh(at: responseTime)
    else { return nil }
    return (freshness, kept)
  }

  /// The resource itself, and faults in one request, which a client must not bring on all others.
  private static let unfit: Set<Int> = [
    200, 203, 304, 400, 408, 411, 412, 413, 414, 415, 416, 417, 421, 425, 426, 428, 429, 431,
  ]

  package static func == (left: HandedResponse, right: HandedResponse) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
