// SPDX-License-Identifier: MIT
import NIOCore
import Refrain

/// A request on its way from the connection to the task that responds to it.
struct ClientRequest: Sendable {
  var head: RequestHead
  /// The client's numeric address.
  var client: String
  /// The local address that received the request.
  var localAddress: String?
  var started: NIODeadline
}
