// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

extension Listener {
  /// Returns the error for the user if the proxy cannot listen.
  static func explained(_ error: any Error, _ address: String, _ port: Int) -> any Error {
    let place = ListeningAddress(host: address, port: port)
    guard let code = (error as? IOError)?.errnoCode else {
      return CacheProxyError(
        .addressUnavailable, "The proxy cannot listen on \(place): \(error).",
        remedy: "Use an address of this machine.")
    }
    switch code {
    case EADDRINUSE:
      return CacheProxyError(
        .addressInUse, "\(place) is already in use.",
        remedy: "Choose another port, or use the proxy there if it is this program.")
    case EACCES:
      return CacheProxyError(
        .addressUnavailable, "Listening on \(place) is not permitted.",
        remedy: "Choose a port above 1023.")
    default:
      return CacheProxyError(
        .addressUnavailable,
        "The proxy cannot listen on \(place): \(String(cString: strerror(code))).",
        remedy: "Use an address of this machine.")
    }
  }
}
