// SPDX-License-Identifier: MIT
import NIOCore
import Refrain

/// A request, on its way from the connection to the task that answers it.
struct ClientRequest: Sendable {
  var head: RequestHead
  /// The client's numeric address.
  var client: String
  /// The address under which it reached us.
  var localAddress: String?
  var started: NIODeadline
}
