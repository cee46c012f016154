// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainProxy

enum OperatorPlace: Sendable {
  /// At the proxy's own address, behind its token.
  case behindToken
  case ownListener
}

/// Responds to `/health`, `/metrics`, and removal. Its requests are neither logged nor counted.
struct OperatorHandler: ProxyHandler {
  let proxy: ProxyService
  let health: HealthCheck
  let removal: Removal
  let place: OperatorPlace

  private static let methods = [
    "/health": "GET, HEAD", "/metrics": "GET, HEAD", "/purge": "POST",
  ]

  /// PURGE is for the operator's listener alone, and there for all paths.
  private func allowed(at path: String) -> String {
    let methods = Self.methods[path].map { [$0] } ?? []
    return (methods + (place == .ownListener ? ["PURGE"] : [])).joined(separator: ", ")
  }

  func response(to request: ProxyRequest) async throws -> ProxyResponse? {
    // No proxied URL begins as these do: a scheme, or `~` and a session, follows the token.
    let isOurs = place == .ownListener || Self.methods[request.path] != nil
    return isOurs ? try await result(of: request).unlogged : nil
  }

  private func result(of request: ProxyRequest) async throws -> ProxyResponse {
    let (method, fields) = (request.method, request.fields)
    let isRead = method == "GET" || method == "HEAD"
    // A page of another site has the browser's right to reach this computer, and no other; not even
    // one that may read through the proxy.
    guard isRead || !fields.isFromAnotherSite() else {
      throw HTTPError(403, "A page of another site may not send a \(method) here.")
    }
    switch (method == "HEAD" ? "GET" : method, request.path) {
    case ("PURGE", _) where place == .ownListener:
      return try await ProxyResponse(json: removal.purge(target: request.target))
    case ("POST", "/purge"):
      guard request.contentType == "application/json" else {
        throw HTTPError(415, "A purge needs a body of the type application/json.")
      }
      return try await ProxyResponse(json: removal.purge(body: request.body(limit: 1 << 20)))
    case ("GET", "/health"):
      let query = request.target.drop { $0 != "?" }.dropFirst()
      let asksOrigin = query.split(separator: "&").contains { $0.prefix { $0 != "=" } == "origin" }
      let report = try await health.report(asksOrigin: asksOrigin)
      return try ProxyResponse(json: report, status: report.httpStatus)
    case ("GET", "/metrics"):
      let metrics = Metrics(
        node: proxy.nodeName, isDraining: proxy.isEnding,
        connections: proxy.connections.current, traffic: proxy.traffic.values,
        purgedEntries: removal.count, cache: await proxy.cache.figures(), process: .now())
      return ProxyResponse(type: MetricsText.contentType, metrics.text.utf8)
    case (_, let path) where Self.methods[path] == nil:
      throw HTTPError(404, "No page exists at this path. See /health and /metrics.")
    default:
      throw HTTPError(
        405, "This page does not serve \(method).", allow: allowed(at: request.path))
    }
  }
}

/// Responds to a balancer at the proxy's own address, with the status and nothing else.
struct HealthHandler: ProxyHandler {
  let health: HealthCheck

  func response(to request: ProxyRequest) async throws -> ProxyResponse? {
    let report = try await health.report()
    return ProxyResponse(
      status: report.httpStatus, type: "text/plain; charset=utf-8",
      "\(report.status.rawValue)\n".utf8
    ).unlogged
  }
}

extension ProxyRequest {
  var path: String { String(target.prefix { $0 != "?" }) }

  /// The media type of the body, in lower case and without parameters.
  var contentType: String? { fields["Content-Type"]?.prefix { $0 != ";" }.trimmingOWS.lowercased() }
}

extension ProxyResponse {
  /// Writes one line of JSON, with the members in the order of their names.
  init(json value: some Encodable, status: Int = 200) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    self.init(
      status: status, type: "application/json", try encoder.encode(value) + [10])
  }
}
