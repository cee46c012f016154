// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation

  extension TransportError {
    /// Returns the error of an ended transfer (libcurl-errors(3)); nil if the response is whole.
    static func curl(
      _ code: CURLcode, _ text: String, host: String, systemError: Int, hasHead: Bool
    ) -> TransportError? {
      if code == CURLE_OK, hasHead { return nil }
      let text = text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
      let reason = String(text.prefix(300))
        .trimmingCharacters(in: .whitespacesAndNewlines.union(["."]))
      switch code {
      // Without a head there is no response.
      case CURLE_OK, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE:
        return .lost(host, "the other side closed it")
      case CURLE_URL_MALFORMAT:
        return TransportError(.badURL, "The URL at \(host) cannot be requested: \(reason).")
      case CURLE_COULDNT_RESOLVE_HOST:
        return .unreachable(host, "could not be resolved to an address", cause: .noAddress)
      case CURLE_COULDNT_CONNECT where systemError == Int(ECONNREFUSED):
        return TransportError(.refused, "\(host) refused the connection.")
      case CURLE_OPERATION_TIMEDOUT where hasHead || text.hasPrefix("Operation too slow"):
        return TransportError(.timedOut, "\(host) was silent for too long.")
      case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE:
        return TransportError(.untrusted, "The certificate of \(host) is not trusted: \(reason).")
      // A line that does not fit into libcurl's buffer; CURLE_TOO_LARGE, which older headers lack.
      case CURLE_OUT_OF_MEMORY where !hasHead, CURLcode(rawValue: 100):
        return .malformed(host, "its headers are too large")
      case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY: return .malformed(host, reason)
      // libcurl's message alone distinguishes these.
      case CURLE_RECV_ERROR where text.contains("chunk") || (!hasHead && text.contains("header")):
        return .malformed(host, reason)
      case CURLE_RECV_ERROR where text.hasPrefix("CONNECT tunnel failed"):
        return .unreachable(host, "could not be reached: \(reason)")
      case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND: return .lost(host, reason)
      default:
        return hasHead
          ? .lost(host, reason) : .unreachable(host, "could not be reached: \(reason)")
      }
    }
  }
#endif
