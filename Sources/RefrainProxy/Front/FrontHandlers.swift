// SPDX-License-Identifier: MIT

/// The part of a proxy that its operator adds: handlers that are asked before those of the app, and
/// what each client may use.
package struct FrontHandlers: Sendable {
  /// Asked, in this order, for requests whose `Host` and token are the proxy's. They decide for
  /// themselves what a page of another site may send.
  package var handlers: [any ProxyHandler] = []
  /// A path, without a query, that needs no token and has no limits: a balancer asks there. It hides
  /// the origin's resource of that path. The handler receives GET and HEAD, and responds to both.
  package var open: (path: String, handler: any ProxyHandler)?
  /// Nil: clients have no limits.
  package var gate: (any ClientGate)?

  package init() {}

  /// Whether a request is for the handler of `open`.
  func isOpen(to head: RequestHead) -> Bool {
    guard let open, head.isGET || head.isHEAD else { return false }
    return head.withTarget { $0.elementsEqual(open.path.utf8) }
  }
}

/// Decides which connections and requests of a client, named by its numeric address, are served, and
/// how fast. Called on event loops: it must not block.
package protocol ClientGate: Sendable {
  /// Counts a connection. Balanced by `leave` if it is accepted.
  ///
  /// - Returns: the error with which it is refused; nil if it is accepted.
  func enter(_ client: String) -> HTTPError?

  func leave(_ client: String)

  /// Counts a request. Returns the error with which it is refused; nil if it may be served.
  func admit(_ client: String) -> HTTPError?

  /// The most bytes of a body to send at a time; nil: as many as a client accepts.
  var longestPiece: Int? { get }

  /// Counts bytes that were sent, and waits until more may be.
  func pace(_ client: String, after count: Int) async throws
}
