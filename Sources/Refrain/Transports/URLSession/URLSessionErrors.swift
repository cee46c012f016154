// SPDX-License-Identifier: MIT
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Translates URLSession's errors into Refrain's.
struct URLSessionErrors: Sendable {
  /// The requested host.
  var host: String

  /// - Parameters:
  ///   - beforeHead: whether the error came before the head of a response.
  ///   - isResting: whether the task was suspended: a timeout is then not the host's.
  func translate(_ error: any Error, beforeHead: Bool, isResting: Bool = false) -> TransportError {
    guard let error = error as? URLError else {
      return broken("\("\(error)".prefix(300))", beforeHead: beforeHead)
    }
    switch error.code {
    case .badURL:
      return TransportError(.badURL, "The URL at \(host) cannot be requested.")
    case .timedOut where isResting:
      return unread()
    case .timedOut:
      return TransportError(.timedOut, "\(host) was silent for too long.")
    case .dnsLookupFailed:
      return .unreachable(host, "could not be resolved to an address")
    case .networkConnectionLost where !beforeHead || !Self.isRefusal(error):
      return .lost(host, "the other side closed it")
    case .cannotConnectToHost, .networkConnectionLost:
      return Self.isRefusal(error)
        ? TransportError(.refused, "\(host) refused the connection.")
        : .unreachable(host, "could not be reached")
    case .serverCertificateHasBadDate, .serverCertificateUntrusted,
      .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
      return TransportError(
        .untrusted, "The certificate of \(host) is not trusted: \(words(error)).")
    case .secureConnectionFailed, .clientCertificateRejected, .clientCertificateRequired:
      return .unreachable(host, "could not be reached over TLS: \(words(error))")
    case .appTransportSecurityRequiresSecureConnection:
      return TransportError(
        .badURL, "App Transport Security allows requests to \(host) only over https.")
    case .cannotParseResponse, .cannotDecodeContentData, .cannotDecodeRawData,
      .dataLengthExceedsMaximum, .httpTooManyRedirects:
      return malformed(words(error))
    default:
      return platformSpecific(error, beforeHead: beforeHead)
    }
  }

  private func words(_ error: URLError) -> String {
    let text = error.localizedDescription.prefix(300)
    return String(text.hasSuffix(".") ? text.dropLast() : text)
  }

  #if canImport(FoundationNetworking)
    /// URLSession on Linux uses this code only for refusals.
    private static func isRefusal(_ error: URLError) -> Bool { error.code == .cannotConnectToHost }

    /// Most libcurl errors have no code of URLError's, only their message (libcurl-errors(3)).
    private func platformSpecific(_ error: URLError, beforeHead: Bool) -> TransportError {
      let text = words(error)
      func says(_ words: String...) -> Bool { words.contains(where: text.lowercased().contains) }
      switch error.code {
      // libcurl does not report whether a name server responded.
      case .cannotFindHost: return .unreachable(host, "could not be resolved to an address")
      // CURLE_GOT_NOTHING
      case .badServerResponse: return .lost(host, "the other side closed it")
      // CURLE_UNSUPPORTED_PROTOCOL. The URL's protocol was checked, so it is the response's.
      case .unsupportedURL: return malformed(text)
      case _ where beforeHead && says("ssl", "tls", "certificate"):
        return .unreachable(host, "could not be reached over TLS: \(text)")
      case _
      where says(
        "weird server reply", "content-length", "chunk", "header", "encoding", "http/", "writing"):
        return malformed(text)
      default: return .lost(host, text)
      }
    }
  #else
    private static func isRefusal(_ error: URLError) -> Bool {
      // CFNetwork's key for the system's error code.
      (error.userInfo["_kCFStreamErrorCodeKey"] as? Int).map { $0 == Int(ECONNREFUSED) } ?? false
    }

    private func platformSpecific(_ error: URLError, beforeHead: Bool) -> TransportError {
      switch error.code {
      case .cannotFindHost:
        return TransportError(.unknownHost, "The host \(host) does not exist.")
      case .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
        return noNetwork(error)
      case .unsupportedURL:
        return TransportError(.badURL, "The URL at \(host) cannot be requested.")
      case .badServerResponse: return malformed(words(error))
      default: return broken(words(error), beforeHead: beforeHead)
      }
    }

    private func noNetwork(_ error: URLError) -> TransportError {
      switch error.networkUnavailableReason {
      case .constrained:
        return TransportError(
          .networkNotAllowed,
          "No request was sent to \(host): Low Data Mode is on for this network.")
      case .expensive, .cellular:
        return TransportError(
          .networkNotAllowed, "No request was sent to \(host): this network is metered.")
      default:
        return .unreachable(
          host, "could not be reached: this device has no network", cause: .noNetwork)
      }
    }
  #endif

  private func broken(_ why: String, beforeHead: Bool) -> TransportError {
    beforeHead ? .unreachable(host, "could not be reached: \(why)") : .lost(host, why)
  }

  /// Returns the error of a response that ended because nobody read it.
  func unread() -> TransportError {
    TransportError(
      .connectionLost,
      "The response of \(host) was not read, and its connection was closed. Request the rest.",
      cause: .unread)
  }

  func malformed(_ what: String) -> TransportError {
    TransportError(.malformed, "\(host) sent an invalid HTTP response: \(what).")
  }
}
