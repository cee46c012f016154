// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOFoundationCompat
import Refrain

/// Relays a client's request to an origin unchanged, and streams both ways.
struct Relay: Sendable {
  let transport: any RelayingTransport
  /// Whether the host's name must not lead to a private address.
  var requiresPublicAddress = false
  /// The longest silence in either direction.
  var longestSilence: Duration

  func send(
    method: String, url: URL, fields: HeaderFields, framing: BodyFraming, writer: ResponseWriter
  ) async throws -> OriginResponse {
    var request = RelayedRequest(method: method, url: url, headers: fields)
    request.requiresPublicAddress = requiresPublicAddress
    request.longestSilence = longestSilence
    switch framing {
    case .none: break
    case .length(let length): request.body = body(of: writer, length: Int64(length))
    case .chunked: request.body = body(of: writer, length: nil)
    }
    do {
      var response = try await transport.relay(request)
      response.headers.dropNoCodings()
      guard (200...599).contains(response.status) else {
        throw HTTPError(
          502, "\(url.host() ?? "The origin") answered \(response.status), not a final status.")
      }
      return response
    } catch let error as TransportError {
      throw Self.httpError(for: error)
    }
  }

  /// Returns a client's body, which is read from its connection as the origin accepts it.
  private func body(of writer: ResponseWriter, length: Int64?) -> RelayedRequest.Body {
    RelayedRequest.Body(length: length) {
      try await writer.nextBodyPart().map { Data(buffer: $0, byteTransferStrategy: .noCopy) }
    }
  }

  private static func httpError(for error: TransportError) -> HTTPError {
    switch error.code {
    case .badURL where error.isForPrivateAddress:
      HTTPError(403, "\(error.reason) \(AllowedHosts.remedy)")
    case .badURL: HTTPError(400, error.reason)
    case .timedOut: HTTPError(504, error.reason)
    case .unreachable where error.isForLackOfDescriptors: HTTPError(503, error.reason)
    default: HTTPError(error.isForLackOfTime ? 504 : 502, error.reason)
    }
  }
}
