// SPDX-License-Identifier: MIT
package import Foundation

/// Receives the head of each response of an origin, redirects included. Observers are equal if they
/// were created with one identity, otherwise only if they are identical.
package final class ResponseObserver: Sendable, Hashable {
  private let identity: (any Hashable & Sendable)?
  private let receive: @Sendable (URL, HeaderFields, _ asked: URL) -> Void

  /// - Parameters:
  ///   - identity: of an observer that is created for each request. Resources with different
  ///     observers are different, and the redirects of one are not known for the other.
  ///   - receive: called with the URL that responded, the fields of its response, and the URL that
  ///     was requested before redirects, on any thread; must not block.
  package init(
    identity: (any Hashable & Sendable)? = nil,
    receive: @escaping @Sendable (URL, HeaderFields, _ asked: URL) -> Void
  ) {
    self.identity = identity
    self.receive = receive
  }

  /// - Parameter asked: the URL that was requested before redirects; nil: `url`.
  package func received(_ headers: HeaderFields, from url: URL, for asked: URL? = nil) {
    receive(url, headers, asked ?? url)
  }

  package static func == (left: ResponseObserver, right: ResponseObserver) -> Bool {
    if left === right { return true }
    guard let one = left.identity, let other = right.identity else { return false }
    return AnyHashable(one) == AnyHashable(other)
  }

  package func hash(into hasher: inout Hasher) {
    if let identity {
      hasher.combine(AnyHashable(identity))
    } else {
      hasher.combine(ObjectIdentifier(self))
    }
  }
}
