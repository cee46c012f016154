// SPDX-License-Identifier: MIT

/// The part of a proxy that its operator adds.
package struct FrontHandlers: Sendable {
  /// Asked, in this order and before the app's, for requests whose `Host` and token are the
  /// proxy's. They decide for themselves what a page of another site may send.
  package var handlers: [any ProxyHandler] = []
  /// A path, without a query, that needs no token and has no limits: a balancer asks there. It hides
  /// the origin's resource of that path. The handler receives GET and HEAD, and responds to both.
  package var open: (path: String, handler: any ProxyHandler)?
  /// Nil: clients have no limits.
  package var gate: (any ClientGate)?

  package init() {}

  func isOpen(to head: RequestHead) -> Bool {
    guard let open, head.isGET || head.isHEAD else { return false }
    return head.withTarget { $0.elementsEqual(open.path.utf8) }
  }
}

/// Decides which connections and requests of a client, named by its numeric address, are served,
/// and how fast. Called on event loops: it must not block.
package protocol ClientGate: Sendable {
  /// Returns the error with which a connection is refused; nil if it is counted, until `leave`.
  func enter(_ client: String) -> HTTPError?

  func leave(_ client: String)

  /// Returns the error with which a request is refused; nil if it is counted.
  func admit(_ client: String) -> HTTPError?

  /// The most bytes of a body to send at a time; nil: as many as a client accepts.
  var longestPiece: Int? { get }

  /// Counts bytes that were sent, and waits until more may be.
  func pace(_ client: String, after count: Int) async throws
}
