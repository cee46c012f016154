// SPDX-License-Identifier: MIT
import NIOCore

/// A request on its way from the connection to the task that responds to it.
struct ClientRequest: Sendable {
  var head: RequestHead
  /// The client's numeric address.
  var client: String
  /// The local address that received the request.
  var localAddress: String?
  var started: NIODeadline
  /// The error with which the request is refused for a limit of the client's; nil: it is served.
  var refusal: HTTPError?
}

/// The client closed the connection, or was silent for too long.
package struct ClientDisconnected: Error {}
