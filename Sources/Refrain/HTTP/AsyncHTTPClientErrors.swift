// SPDX-License-Identifier: MIT
#if os(Linux)
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Darwin)
    import Darwin
  #endif

  /// Says in Refrain's words what AsyncHTTPClient, SwiftNIO and BoringSSL say in theirs.
  struct AsyncHTTPClientErrors: Sendable {
    /// The host that was asked.
    var host: String

    /// - Parameter beforeHead: whether the error came before the head of a response.
    /// - Returns: a `TransportError`; a `CancellationError` where the current task is cancelled.
    func translate(_ error: any Error, beforeHead: Bool) -> any Error {
      if error is CancellationError || Task.isCancelled { return CancellationError() }
      switch error {
      case let error as TransportError:
        return error
      case let error as HTTPClientError:
        return translate(error)
      case let error as HTTPParserError:
        return translate(error)
      case is NIOHTTPDecoderError:
        return malformed("an answer that nobody had asked for")
      case let error as IOError:
        return translate(error, beforeHead: beforeHead)
      default:
        return beforeHead ? connectingFailed(error) : lost("\(error)")
      }
    }

    static let closed = "the other side closed it"

    /// In words how a connection broke; nil where the error is about something else.
    static func reasonOfBreak(_ error: any Error) -> String? {
      switch error {
      case HTTPParserError.invalidEOFState, HTTPParserError.closedConnection: closed
      case let error as IOError: words(error.errnoCode)
      default: nil
      }
    }

    func lost(_ why: String) -> TransportError {
      TransportError(.connectionLost, "The connection to \(host) broke: \(why.prefix(300)).")
    }

    private func translate(_ error: HTTPClientError) -> TransportError {
      switch error {
      case .invalidURL, .emptyHost, .emptyScheme, .missingSocketPath:
        return TransportError(.badURL, "The URL cannot be asked for: \(error.shortDescription).")
      case .connectTimeout, .getConnectionFromPoolTimeout, .deadlineExceeded:
        return unreachable("did not take the connection in time")
      case .tlsHandshakeTimeout:
        return unreachable("took the connection but did not set up TLS in time")
      case .readTimeout, .writeTimeout:
        return TransportError(.timedOut, "\(host) was silent for too long.")
      case .remoteConnectionClosed, .uncleanShutdown, .requestStreamCancelled:
        return lost(Self.closed)
      case .cancelled:
        return lost("it was cancelled")
      case .contentLengthMissing, .invalidProxyResponse:
        return malformed(error.shortDescription)
      default:
        break
      }
      // The codes with a value cannot be matched; what is left belongs to the request.
      let text = error.shortDescription
      if text.hasPrefix("Unsupported scheme") || text.hasPrefix("Invalid") {
        return TransportError(.badURL, "The request to \(host) cannot be sent: \(text).")
      }
      return unreachable("could not be asked: \(text)")
    }

    private func translate(_ error: HTTPParserError) -> TransportError {
      switch error {
      case .invalidEOFState, .closedConnection:
        lost(Self.closed)
      case .headerOverflow:
        malformed("headers larger than any real ones")
      case .invalidConstant, .invalidVersion, .strictModeAssertion:
        TransportError(.malformed, "\(host) does not answer in HTTP.")
      case .invalidStatus:
        malformed("its answer has no valid status")
      case .invalidHeaderToken:
        malformed("its answer has an invalid header")
      case .invalidContentLength, .unexpectedContentLength:
        malformed("its answer has an invalid Content-Length")
      case .invalidChunkSize:
        malformed("its answer has an invalid chunk")
      default:
        malformed("its answer breaks the rules of HTTP")
      }
    }

    private func translate(_ error: IOError, beforeHead: Bool) -> TransportError {
      switch error.errnoCode {
      case ECONNREFUSED where beforeHead:
        refused
      case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL, ETIMEDOUT, EMFILE, ENFILE:
        beforeHead ? connectingFailed(error) : lost(Self.words(error.errnoCode))
      default:
        lost(Self.words(error.errnoCode))
      }
    }

    /// The errors of connecting have types of modules that Refrain does not depend on; their names
    /// choose the words, never the code.
    private func connectingFailed(_ error: any Error) -> TransportError {
      let text = "\(error)"
      let type = String(reflecting: Swift.type(of: error))
      if type.hasPrefix("NIOSSL.") { return tlsFailed(text) }
      if text.hasPrefix("DNS error") {
        var error = unreachable("has no address that could be found")
        error.isForLackOfAddress = true
        return error
      }
      if text.contains("errno: \(ECONNREFUSED)") { return refused }
      let words = (error as? IOError).map { Self.words($0.errnoCode) } ?? text
      return unreachable("could not be connected to: \(words)")
    }

    /// - Parameter text: the words of NIOSSL and BoringSSL.
    func tlsFailed(_ text: String) -> TransportError {
      let reason = Self.reasonOfBoringSSL(text)
      if reason == "certificate verify failed" {
        return TransportError(
          .untrusted, "The certificate of \(host) is not trusted: it could not be verified.")
      }
      if text.contains("failedToValidateHostname") || text.contains("match hostname") {
        return TransportError(
          .untrusted, "The certificate of \(host) is not trusted: it is for another host.")
      }
      return unreachable("could not be spoken to over TLS: \(reason)")
    }

    private var refused: TransportError {
      TransportError(.refused, "\(host) refused the connection.")
    }

    /// errno(3) in words.
    private static func words(_ code: CInt) -> String {
      strerror(code).map { String(cString: $0) } ?? "errno \(code)"
    }

    /// "certificate verify failed" out of
    /// `… error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at …`.
    private static func reasonOfBoringSSL(_ text: String) -> String {
      guard let marker = text.firstRange(of: "OPENSSL_internal:") else { return text }
      return text[marker.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        .replacing("_", with: " ").lowercased()
    }

    private func unreachable(_ what: String) -> TransportError {
      TransportError(.unreachable, "\(host) \(what.prefix(300)).")
    }

    private func malformed(_ what: String) -> TransportError {
      TransportError(.malformed, "\(host) does not keep to HTTP: \(what.prefix(300)).")
    }
  }
#endif
