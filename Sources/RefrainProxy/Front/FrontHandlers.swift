// SPDX-License-Identifier: MIT

/// The part of a proxy that its operator adds: handlers that are asked before those of the app, and
/// what each client may use.
package struct FrontHandlers: Sendable {
  /// Asked, in this order, for requests whose `Host` and token are the proxy's. They decide for
  /// themselves what a page of another site may send.
  package var handlers: [any ProxyHandler] = []
  package var open: OpenPath?
  /// Nil: clients have no limits.
  package var gate: (any ClientGate)?

  package init() {}

  /// A path of the proxy's own that needs no token and has no limits: a balancer asks there. It hides
  /// the origin's resource of that path.
  package struct OpenPath: Sendable {
    let path: String
    let handler: any ProxyHandler

    /// - Parameters:
    ///   - path: without a query, as in `/health`.
    ///   - handler: receives GET and HEAD, and responds to both.
    package init(_ path: String, _ handler: any ProxyHandler) {
      (self.path, self.handler) = (path, handler)
    }

    func isAsked(by head: RequestHead) -> Bool {
      (head.isGET || head.isHEAD) && head.withTarget { $0.elementsEqual(path.utf8) }
    }
  }
}

/// Decides which connections and requests of a client are served, and how fast. Called on event loops:
/// it must not block.
package protocol ClientGate: Sendable {
  /// Whether responses have a pace.
  var isPacing: Bool { get }

  /// Counts a connection. Balanced by `leave` if it is accepted.
  ///
  /// - Parameter client: the client's numeric address.
  /// - Returns: the error with which it is refused; nil if it is accepted.
  func enter(_ client: String) -> HTTPError?

  func leave(_ client: String)

  /// Counts a request. Returns the error with which it is refused; nil if it may be served.
  func admit(_ client: String) -> HTTPError?

  /// Returns the pace of a client's responses; nil if they have none.
  func pace(of client: String) -> ResponsePace?
}

/// Bounds the rate of one client's responses.
package struct ResponsePace: Sendable {
  /// The most bytes to send at a time.
  let step: Int
  /// Counts bytes that were sent, and waits until more may be.
  let wait: @Sendable (_ count: Int) async throws -> Void

  package init(step: Int, wait: @escaping @Sendable (_ count: Int) async throws -> Void) {
    (self.step, self.wait) = (step, wait)
  }
}
