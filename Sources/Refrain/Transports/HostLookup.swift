// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// Why a name has no address: there is no such host, or no name server responded. libcurl reports
  /// both alike; the system's resolver distinguishes them (getaddrinfo(3)).
  enum HostLookup: Sendable, Hashable {
    case exists
    case unknown
    /// The name server did not respond, or there is no network.
    case undecided

    init(code: Int32) {
      switch code {
      case 0: self = .exists
      case Self.noName, Self.noAddress: self = .unknown
      default: self = .undecided
      }
    }

    // EAI_NONAME and EAI_NODATA, which the headers hide behind feature macros.
    private static let noName: Int32 = -2
    private static let noAddress: Int32 = -5

    /// Blocks.
    init(host: String) {
      // Such names never exist (RFC 6761 §6.4).
      if host.lowercased().split(separator: ".").last == "invalid" {
        self = .unknown
        return
      }
      var found: UnsafeMutablePointer<addrinfo>?
      let code = getaddrinfo(host, nil, nil, &found)
      if let found { freeaddrinfo(found) }
      self.init(code: code)
    }

    /// Returns the error of a connection that failed without an address.
    func refined(_ error: TransportError, host: String) -> TransportError {
      self == .unknown
        ? TransportError(.unknownHost, "The host \(host) does not exist.")
        : TransportError(.unreachable, "No name server could resolve \(host).")
    }
  }
#endif
