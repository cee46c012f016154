// SPDX-License-Identifier: MIT
package import Foundation

/// Receives the head of each response of an origin, redirects included. Observers are equal if their
/// identities are. Resources with different observers are different, and the redirects of one are
/// not known for the other.
package struct ResponseObserver: Sendable, Hashable {
  private let identity: any Hashable & Sendable
  private let receive: @Sendable (URL, HeaderFields) -> Void

  /// - Parameter receive: called with the URL that responded, and the fields of its response, on any
  ///   thread; must not block.
  package init(
    identity: any Hashable & Sendable, receive: @escaping @Sendable (URL, HeaderFields) -> Void
  ) {
    self.identity = identity
    self.receive = receive
  }

  package func received(_ headers: HeaderFields, from url: URL) { receive(url, headers) }

  package static func == (left: ResponseObserver, right: ResponseObserver) -> Bool {
    AnyHashable(left.identity) == AnyHashable(right.identity)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(identity)) }
}
