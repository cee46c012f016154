// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// The pages for a proxy's operator.
extension ProxyService {
  /// Returns the pages. The path for balancers at the proxy itself
  /// (`CacheProxy.Configuration.healthPath`) is not among them.
  static func adminRoutes() -> AdminRoutes {
    var routes = AdminRoutes()
    routes.add("GET", "/health") { try await $0.healthAnswer(to: $1) }
    routes.add("GET", "/metrics") { await $0.metricsAnswer(to: $1) }
    addPurging(to: &routes)
    return routes
  }

  /// Returns the target of a request for one of these pages under the proxy's token, without the
  /// token; nil for any other request.
  func adminTarget(of request: ClientRequest) -> String? {
    let target = request.head.target
    guard let token = routes.token, target.hasPrefix("/"), routes.mayBeOurs(target: target)
    else { return nil }
    let rest = target.dropFirst(1 + token.utf8.count)
    guard adminRoutes.contains(path: rest.prefix { $0 != "?" }),
      let host = request.head.fields["Host"],
      routes.isOurs(host: host, localAddress: request.localAddress, listening: knownAddress)
    else { return nil }
    return String(rest)
  }

  // MARK: Health

  private func healthAnswer(to request: AdminRequest) async throws -> AdminAnswer {
    var asked: URL?
    if request.hasParameter("origin") {
      guard let origin = configuration.origin else {
        throw HTTPError(400, "This proxy serves many origins. Omit the parameter 'origin'.")
      }
      asked = origin
    }
    let report = await health.report(
      isDraining: isDraining || isStopping, node: configuration.nodeName, asking: asked)
    return try .json(report, status: report.httpStatus)
  }

  /// Whether a request is a balancer's, at the path for it.
  func isHealthCheck(_ head: RequestHead) -> Bool {
    guard let path = configuration.healthPath else { return false }
    return (head.isGET || head.isHEAD) && head.target == path
  }

  /// Returns the status and nothing else, for balancers, which ask where clients do.
  func healthForClients() async -> AdminAnswer {
    let report = await health.report(
      isDraining: isDraining || isStopping, node: configuration.nodeName, asking: nil)
    return AdminAnswer(
      status: report.httpStatus, type: "text/plain; charset=utf-8",
      .bytes(Array("\(report.status.rawValue)\n".utf8)))
  }

  // MARK: Metrics

  private func metricsAnswer(to request: AdminRequest) async -> AdminAnswer {
    let format = MetricsText.Format(request.fields)
    let metrics = Metrics(
      node: configuration.nodeName, isDraining: isDraining, connections: connections.current,
      traffic: traffic.values, cache: await cache.figures(), process: .now())
    var answer = AdminAnswer(type: format.contentType, .bytes(Array(metrics.text(format).utf8)))
    answer.fields.append("Vary", "Accept")
    return answer
  }
}
