// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation

  extension TransportError {
    /// Returns the error of an ended transfer (libcurl-errors(3)); nil if the response is whole.
    ///
    /// - Parameters:
    ///   - systemError: errno(3) of the last failed connection.
    ///   - proxyStatus: a proxy's response to CONNECT; 0: none.
    static func curl(
      _ code: CURLcode, _ text: String, host: String, systemError: Int32, proxyStatus: Int,
      hasHead: Bool
    ) -> TransportError? {
      if code == CURLE_OK, hasHead { return nil }
      let text = text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
      let reason = String(text.prefix(300))
        .trimmingCharacters(in: .whitespacesAndNewlines.union(["."]))
      switch code {
      case _ where proxyStatus >= 300:
        return .unreachable(host, "could not be reached: \(reason)")
      // Without a head there is no response.
      case CURLE_OK, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE:
        return .lost(host, "the other side closed it")
      case CURLE_URL_MALFORMAT:
        return TransportError(.badURL, "The URL at \(host) cannot be requested: \(reason).")
      case CURLE_COULDNT_RESOLVE_HOST:
        return .unreachable(host, "could not be resolved to an address", cause: .noAddress)
      case CURLE_COULDNT_CONNECT where systemError == ECONNREFUSED:
        return TransportError(.refused, "\(host) refused the connection.")
      case CURLE_COULDNT_CONNECT where [EMFILE, ENFILE].contains(systemError):
        return .unreachable(
          host, "could not be connected to: too many files are open", cause: .noDescriptors)
      case CURLE_COULDNT_CONNECT where systemError != 0:
        return .unreachable(host, "could not be reached: \(String(cString: strerror(systemError)))")
      case CURLE_OPERATION_TIMEDOUT where hasHead || text.hasPrefix("Operation too slow"):
        return TransportError(.timedOut, "\(host) was silent for too long.")
      case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE:
        return TransportError(.untrusted, "The certificate of \(host) is not trusted: \(reason).")
      case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
        return .malformed(host, "it does not begin as one")
      // Such a long line does not fit into libcurl's buffer.
      case CURLE_OUT_OF_MEMORY where !hasHead, Self.tooLarge:
        return .malformed(host, "its headers are too large")
      case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND:
        // libcurl's message alone distinguishes these.
        let text = text.lowercased()
        if text.contains("chunk") { return .malformed(host, "it has an invalid chunk") }
        if !hasHead, text.contains("header") {
          return .malformed(host, "its headers are too large")
        }
        return .lost(host, reason)
      default:
        return hasHead
          ? .lost(host, reason) : .unreachable(host, "could not be reached: \(reason)")
      }
    }

    // CURLE_TOO_LARGE, which older headers lack.
    private static let tooLarge = CURLcode(rawValue: 100)

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
