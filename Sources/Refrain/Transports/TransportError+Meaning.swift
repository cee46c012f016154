// SPDX-License-Identifier: MIT

extension MediaCacheError {
  /// Creates the error for callers from an error of the transport, with its remedy.
  init(_ error: TransportError, _ purpose: OriginRequest.Purpose) {
    let (code, remedy): (Code, String) =
      switch error.code {
      case .unreachable where error.isForLackOfDescriptors:
        (.unreachable, "Try again in a moment, or raise the limit of open files (ulimit -n).")
      case .unreachable, .connectionLost, .timedOut:
        (.unreachable, "Check the network and the URL.")
      case .unknownHost: (.unreachable, "Check the spelling of the URL.")
      case .refused: (.unreachable, "Check the port, and that the server is running.")
      case .untrusted:
        (
          .unreachable,
          "Check the URL and the clock of this machine; the server needs a certificate that this "
            + "machine trusts."
        )
      case .malformed:
        (.invalidResponse, "Check the port and the scheme of the URL: it may not be a web server.")
      case .badURL: (.badURL, "Check the URL.")
      case .networkNotAllowed:
        (
          .networkNotAllowed,
          "Use another network, or allow this one in MediaCache.Configuration.network.\(purpose)."
        )
      }
    self.init(code, error.reason, remedy: remedy)
    isTimeout = error.code == .timedOut
    isForLackOfDescriptors = error.isForLackOfDescriptors
    switch error.code {
    case .unknownHost, .untrusted, .malformed: retry = .permanent
    case .refused: retry = .refused
    default: break
    }
  }
}
