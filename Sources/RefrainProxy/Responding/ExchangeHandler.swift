// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// One of those that respond to requests for the resources of origins, asked one after the other.
protocol ExchangeHandler: Sendable {
  /// Responds, or lets the request go on.
  ///
  /// - Returns: the request as it goes on; nil after a response.
  func respond(to exchange: Exchange) async throws -> Exchange?
}

/// Responds to the methods that concern the proxy itself.
struct MethodHandler: ExchangeHandler {
  func respond(to exchange: Exchange) async throws -> Exchange? {
    let (service, fields) = (exchange.service, exchange.request.head.fields)
    switch exchange.request.head.method {
    case "OPTIONS"
    where service.rules.allowedWebOrigin != nil && fields["Access-Control-Request-Method"] != nil:
      try await sendEmpty(service.fields.preflight(fields), exchange)
    case "OPTIONS" where exchange.target == "*":
      // A question about this server (RFC 9110 §9.3.7), and not about the origin's root.
      let allow = service.requestPolicy.allow
      try await sendEmpty(["Date": HTTPDate.format(Date()), "Allow": allow], exchange)
    case "TRACE":
      throw HTTPError(405, "This proxy does not serve TRACE.")
    default:
      return exchange
    }
    return nil
  }

  private func sendEmpty(_ fields: HeaderFields, _ exchange: Exchange) async throws {
    try await exchange.writer.begin(ResponseHead(status: 204, fields: fields, body: .none))
    exchange.report.note { $0.status = 204 }
    try await exchange.writer.end()
  }
}

/// Responds to GET and HEAD without a body from the cache.
struct CacheHandler: ExchangeHandler {
  func respond(to exchange: Exchange) async throws -> Exchange? {
    guard exchange.isRead else { return exchange }
    return try await CachedAnswer(exchange: exchange).run()
  }
}

/// Responds with what the origin sends, unchanged and not stored.
struct RelayHandler: ExchangeHandler {
  func respond(to exchange: Exchange) async throws -> Exchange? {
    let head = exchange.request.head
    if !exchange.isRead {
      let fields = head.fields
      try exchange.service.requestPolicy.check(head.method, fields, host: fields["Host"])
    }
    switch exchange.relaying {
    case .request(let reason, let asksWhole):
      try await RelayedAnswer(exchange: exchange, reason: reason, asksWhole: asksWhole).run()
    case .received(let response, let isJoined):
      try await RelayedAnswer(exchange: exchange, reason: .uriMiss)
        .pass(response, isJoined: isJoined)
    }
    return nil
  }
}
