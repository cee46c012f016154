// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation

  /// The result of a libcurl transfer, and its meaning (libcurl-errors(3)).
  struct CurlFailure {
    /// The requested host.
    var host: String
    /// The proxy used.
    var proxy: String?
    var code: CURLcode
    /// libcurl's error message.
    var text = ""
    /// errno(3) of the last failed connection.
    var systemError = 0
    /// A proxy's response to CONNECT; 0: none.
    var proxyStatus = 0
    /// Whether there was a connection, even without TLS.
    var hasConnected = false
    /// Whether the head of a response was received.
    var hasHead = false
    /// The fault that Refrain found in the head.
    var fault: String?

    /// CURLE_TOO_LARGE, which older headers lack.
    private static let tooLarge = CURLcode(rawValue: 100)

    /// Nil if the response is whole.
    var error: TransportError? {
      if let fault { return malformed(fault) }
      switch code {
      // Without a head there is no response.
      case CURLE_OK: return hasHead ? nil : lost(Self.closed)
      case CURLE_URL_MALFORMAT, CURLE_LOGIN_DENIED:
        return TransportError(.badURL, "The URL at \(host) cannot be requested: \(reason).")
      case CURLE_COULDNT_RESOLVE_HOST:
        return unreachable("could not be resolved to an address", cause: .noAddress)
      case CURLE_COULDNT_RESOLVE_PROXY:
        return .unreachable("The proxy \(proxy ?? "")", "could not be resolved to an address")
      case CURLE_COULDNT_CONNECT: return notConnected
      case CURLE_OPERATION_TIMEDOUT where hasHead || text.hasPrefix("Operation too slow"):
        return TransportError(.timedOut, "\(host) was silent for too long.")
      case CURLE_OPERATION_TIMEDOUT:
        return unreachable(
          hasConnected
            ? "accepted the connection but did not complete TLS in time"
            : "did not accept the connection in time",
          cause: .slowConnection)
      case CURLE_PEER_FAILED_VERIFICATION:
        return TransportError(.untrusted, "The certificate of \(host) is not trusted: \(reason).")
      case CURLE_SSL_CONNECT_ERROR:
        return unreachable("could not be reached over TLS: \(reason)")
      case CURLE_SSL_CACERT_BADFILE:
        return TransportError(
          .untrusted,
          "The certificate of \(host) could not be checked, because the trusted certificates could "
            + "not be read: \(reason).")
      case CURLE_PROXY: return notPassedOn(reason)
      case CURLE_INTERFACE_FAILED:
        return unreachable("could not be reached through that interface: \(reason)")
      case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
        return TransportError(.malformed, "\(host) does not respond in HTTP.")
      // Such a long line does not fit into libcurl's buffer.
      case CURLE_OUT_OF_MEMORY where !hasHead, Self.tooLarge: return malformed(Self.tooLong)
      case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE,
        CURLE_SEND_FAIL_REWIND:
        return broken
      default:
        return hasHead ? lost(reason) : unreachable("could not be reached: \(reason)")
      }
    }

    private static let closed = "the other side closed it"
    private static let tooLong = "its headers are too large"

    /// libcurl's message, without a full stop.
    private var reason: String {
      let text = text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
      return String(text.prefix(300)).trimmingCharacters(in: .whitespacesAndNewlines.union(["."]))
    }

    private var notConnected: TransportError {
      switch Int32(truncatingIfNeeded: systemError) {
      case ECONNREFUSED: TransportError(.refused, "\(first) refused the connection.")
      case EMFILE, ENFILE:
        unreachable("could not be connected to: too many files are open", cause: .noDescriptors)
      case 0: unreachable("could not be reached: \(reason)")
      case let code: unreachable("could not be reached: \(String(cString: strerror(code)))")
      }
    }

    /// libcurl has one code for several of these; only its message distinguishes them.
    private var broken: TransportError {
      if proxyStatus >= 300 { return notPassedOn("it answered \(proxyStatus)") }
      let text = text.lowercased()
      if text.contains("chunk") { return malformed("its response has an invalid chunk") }
      if !hasHead, text.contains("header") { return malformed(Self.tooLong) }
      return lost([CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE].contains(code) ? Self.closed : reason)
    }

    /// The host or proxy that is connected to.
    private var first: String { proxy.map { "The proxy \($0)" } ?? host }

    private func notPassedOn(_ why: String) -> TransportError {
      .unreachable("The proxy \(proxy ?? "")", "did not connect to \(host): \(why)")
    }

    private func lost(_ why: String) -> TransportError { .lost(host, why) }

    private func malformed(_ what: String) -> TransportError {
      TransportError(.malformed, "\(host) violates HTTP: \(what).")
    }

    private func unreachable(_ what: String, cause: TransportError.Cause? = nil) -> TransportError {
      .unreachable(first, what, cause: cause)
    }
  }

  extension TransportError {
    /// Returns the error for a name without an address: there is no such host, or no name server
    /// responded. libcurl reports both alike; the system's resolver distinguishes them. Blocks.
    static func noAddress(of host: String) -> TransportError {
      // Such names never exist (RFC 6761 §6.4).
      let isInvalid = host.lowercased().split(separator: ".").last == "invalid"
      var found: UnsafeMutablePointer<addrinfo>?
      let code = isInvalid ? noName : getaddrinfo(host, nil, nil, &found)
      if let found { freeaddrinfo(found) }
      return noAddress(of: host, code: code)
    }

    /// - Parameter code: of getaddrinfo(3).
    static func noAddress(of host: String, code: Int32) -> TransportError {
      code == noName || code == noData
        ? TransportError(.unknownHost, "The host \(host) does not exist.")
        : TransportError(.unreachable, "No name server could resolve \(host).")
    }

    // EAI_NONAME and EAI_NODATA, which the headers hide behind feature macros.
    private static let noName: Int32 = -2
    private static let noData: Int32 = -5
  }
#endif
