// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// A response as the origin sent it in place of a resource that can be stored, for readers that pass
/// it on (`ReadTerms.passesOnErrors`): an error, a redirect that is not followed, a body in a content
/// coding. Those that waited for the same request receive the same one with their error. Nothing
/// else keeps it: a later reader asks the origin again.
///
/// All methods may be called from any thread.
package final class ErrorResponse: Sendable, Hashable {
  /// The longest body that is read before the response is passed on, in bytes.
  static let longestBody = 64 << 10

  package let status: Int
  package let headers: HeaderFields
  /// The beginning of the body; all of it unless there is a rest.
  package let body: Data
  /// The rest of a longer body, for the first client that takes the response.
  package let rest: BodyRest?
  package let requestTime: Date
  package let responseTime: Date
  /// The answered request, as its reader gave it.
  private let resource: Resource
  private let isTaken = Atomic(false)

  init(
    status: Int, headers: HeaderFields, requestTime: Date, responseTime: Date, body: Data,
    rest: BodyRest?, to resource: Resource
  ) {
    (self.status, self.headers) = (status, headers)
    (self.requestTime, self.responseTime) = (requestTime, responseTime)
    (self.body, self.rest, self.resource) = (body, rest, resource)
  }

  /// Whether it answers a request for this URL with these headers: credentials and cookies are among
  /// them.
  package func answers(_ other: Resource) -> Bool { resource.isAsked(as: other) }

  /// Takes the response for one client. Returns whether it is the first to receive it.
  package func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }

  /// Whether further clients may receive it, that sent the same request while it was running.
  ///
  /// - Parameter isShared: whether the cache serves several people (RFC 9111 §3).
  package func mayBeShared(isShared: Bool) -> Bool {
    guard rest == nil, !headers.setsCookie else { return false }
    guard isShared else { return true }
    let control = CacheControl.forSharedCaches(headers)
    return !control.noStore && !control.isPrivate
  }

  /// Returns how long a shared cache may give the response to others, with the fields that it keeps
  /// (RFC 9111 §3); nil unless the origin states that it may, or the response is long.
  package func reuse() -> (Freshness, HeaderFields)? {
    guard rest == nil, !WholeResponse.statuses.contains(status), status != 304,
      !Self.requestFaults.contains(status), headers.contentCodings.isEmpty
    else { return nil }
    let keeper = Freshness.Keeper(
      isShared: true, isAuthorized: Credentials.of(resource) != Credentials.none,
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

/// A body whose beginning is read by its request, and the rest by whoever passes the response on.
/// Releasing it ends the response.
package actor BodyRest {
  private var iterator: any AsyncIteratorProtocol<Data, any Error>
  private let limit: Limit
  private let received: @Sendable (Int) async -> Void

  /// Returns what the given work returns, unless the origin is silent for too long.
  typealias Limit = @Sendable (@escaping @Sendable () async throws -> Data?) async throws -> Data?

  /// - Parameters:
  ///   - limit: limits the origin's silence, for whoever passes the response on.
  ///   - received: counts bytes, and pauses for as long as the origin's rate requires.
  init(
    _ body: any AsyncSequence<Data, any Error> & Sendable, limit: @escaping Limit,
    received: @escaping @Sendable (Int) async -> Void
  ) {
    iterator = body.makeAsyncIterator()
    (self.limit, self.received) = (limit, received)
  }

  /// Returns the next bytes; nil at the end. One caller at a time.
  ///
  /// - Throws: the transport's error; `CancellationError`, also if the origin is silent for too long.
  package func next() async throws -> Data? { try await limit { try await self.read() } }

  /// As `next`, for the request, which limits the origin's silence itself.
  func read() async throws -> Data? {
    var iterator = iterator
    defer { self.iterator = iterator }
    guard let bytes = try await iterator.next(isolation: self) else {
      // Some sequences end early without an error when their task is cancelled.
      try Task.checkCancellation()
      return nil
    }
    await received(bytes.count)
    return bytes
  }
}
