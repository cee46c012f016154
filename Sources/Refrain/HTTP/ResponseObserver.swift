// SPDX-License-Identifier: MIT
package import Foundation

/// Receives the head of each response of an origin, redirects included. Observers are equal only if
/// identical.
package final class ResponseObserver: Sendable, Hashable {
  private let receive: @Sendable (URL, HeaderFields) -> Void

  /// - Parameter receive: called with the requested URL and the fields of its response, on any
  ///   thread; must not block.
  package init(receive: @escaping @Sendable (URL, HeaderFields) -> Void) {
    self.receive = receive
  }

  package func received(_ headers: HeaderFields, from url: URL) { receive(url, headers) }

  package static func == (left: ResponseObserver, right: ResponseObserver) -> Bool {
    left === right
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
