// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

extension Listener {
  /// Returns the error for the user if the proxy cannot listen.
  static func explained(_ error: any Error, _ address: String, _ port: Int) -> any Error {
    let place = ListeningAddress(host: address, port: port)
    if let unknown = error as? SocketAddressError.UnknownHost {
      return CacheProxyError(
        .addressUnavailable,
        "The proxy cannot listen on \(place): '\(address)' is not an address, and no address of that "
          + "name was found (\(unknown.errorDescription)).",
        remedy: "Use an address of this machine, as in 127.0.0.1, or 0.0.0.0 for all of them.")
    }
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
