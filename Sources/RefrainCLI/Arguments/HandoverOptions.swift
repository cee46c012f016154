// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy

/// How a proxy takes over from an earlier one, or is taken over from.
struct HandoverOptions: ParsableArguments {
  #if os(Linux)
    @Flag(
      help: ArgumentHelp(
        """
        Let a second 'refrain serve' of this user, also with --share-port, listen on the same \
        port: it receives all further connections, and SIGTERM then ends this one. No request \
        fails, and both may use one cache. Not needed where systemd opens the socket.
        """))
    var sharePort = false
  #else
    var sharePort: Bool { false }
  #endif

  /// Returns how long to serve on after SIGTERM. If another process takes over, at least a second:
  /// connections that the system has passed to this process would be reset otherwise, and clients
  /// could send requests on connections that are being closed.
  func drain(_ wanted: Duration, _ sockets: ActivatedSockets?) -> Duration {
    sharePort || sockets?.proxy != nil ? max(wanted, .seconds(1)) : wanted
  }

  /// The remedy if another program listens on the port.
  var remedyForUsedPort: String {
    sharePort
      ? """
      The program there was started without --share-port, or by another user, so that the port \
      cannot be shared. End that program first, or choose another port with --port, --listen or \
      --admin.
      """
      : """
      Choose another port with --port, --listen or --admin. If 'refrain serve' already runs \
      there, use it: 'refrain url' prints its URLs.
      """
  }

  func apply(to configuration: inout CacheProxy.Configuration, _ sockets: ActivatedSockets) {
    configuration.sharesPort = sharePort
    configuration.socket = sockets.proxy
    configuration.adminSocket = sockets.admin
  }
}
