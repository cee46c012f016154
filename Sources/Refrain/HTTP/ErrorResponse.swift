// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// An error response as the origin sent it, for readers that pass it on
/// (`ReadTerms.passesOnErrors`). Those that waited for the same request receive the same
/// one with their error. Nothing else keeps it: a later reader asks the origin again.
///
/// All methods may be called from any thread.
package final class ErrorResponse: Sendable, Hashable {
  /// The longest body that is kept, in bytes.
  static let longestBody = 64 << 10

  package let status: Int
  package let headers: HeaderFields
  /// The whole body, in no content coding.
  package let body: Data
  /// The answered request, as its reader gave it.
  private let resource: Resource
  private let isTaken = Atomic(false)

  init(status: Int, headers: HeaderFields, body: Data, to resource: Resource) {
    self.status = status
    self.headers = headers
    self.body = body
    self.resource = resource
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
    guard headers["Set-Cookie"] == nil, headers["Set-Cookie2"] == nil else { return false }
    guard isShared else { return true }
    let control =
      CacheControl(targetedBy: headers) ?? CacheControl(headers["Cache-Control"])
    return !control.noStore && !control.isPrivate
  }

  package static func == (left: ErrorResponse, right: ErrorResponse) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
