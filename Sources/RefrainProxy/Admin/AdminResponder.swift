// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// Responds to one request of a proxy's operator. Such requests are neither logged nor counted.
struct AdminResponder: Sendable {
  let service: ProxyService
  let request: ClientRequest
  let writer: ResponseWriter

  /// No web origin may change anything, not even one that may read through the proxy.
  private static let policy = RequestPolicy(
    hasOrigin: false, methods: .none, allowedWebOrigin: nil)

  /// The methods of each path. PURGE is for the operator's listener alone, and there for all paths.
  private static let allowed = [
    "/health": "GET, HEAD, PURGE", "/metrics": "GET, HEAD, PURGE", "/purge": "POST, PURGE",
  ]

  /// Whether a target, whose token was removed, is the operator's.
  static func isTarget(_ target: Substring) -> Bool { allowed[path(of: target)] != nil }

  private static func path(of target: some StringProtocol) -> String {
    String(target.prefix { $0 != "?" })
  }

  /// Responds on the admin listener.
  ///
  /// - Parameter address: that of the admin listener, or its last one.
  func run(listening address: ListeningAddress?) async {
    let target = request.head.target
    await responding(to: target) {
      try check(listening: address)
      guard target.hasPrefix("/") else {
        throw HTTPError(400, "The request target is not a path.")
      }
      if let page = service.pageForOperator, PageAnswer.isTarget(target),
        request.head.method != "PURGE"
      {
        var answer = PageAnswer(
          service: service, page: page, request: request, writer: writer, report: AnswerReport(),
          target: target)
        answer.isOnOtherListener = true
        return try await answer.run()
      }
      try await writer.send(answer(target), to: request.head)
    }
  }

  /// Responds to a target whose token was removed.
  func run(target: String) async {
    await responding(to: target) { try await writer.send(answer(target), to: request.head) }
  }

  /// Responds to a balancer at the proxy's own address, with the status and nothing else.
  func runHealth() async {
    await responding(to: request.head.target) {
      try check(listening: service.knownAddress)
      let report = try await health()
      try await writer.send(
        OwnAnswer(
          status: report.httpStatus, type: "text/plain; charset=utf-8",
          Array("\(report.status.rawValue)\n".utf8)), to: request.head)
    }
  }

  private func responding(to target: String, _ work: () async throws -> Void) async {
    do {
      try await work()
    } catch let error as HTTPError {
      await say(error, to: target)
    } catch let error as MediaCacheError {
      await say(Responder.httpError(for: error), to: target)
    } catch is ClientDisconnected {
      await writer.abort()
    } catch is CancellationError {
      await writer.abort()
    } catch {
      await say(HTTPError(500, "\(error)"), to: target)
    }
  }

  /// - Throws: 421 if the request is for another name: that of a web page, pointed here.
  private func check(listening address: ListeningAddress?) throws(HTTPError) {
    guard let host = request.head.fields["Host"] else { return }
    guard
      service.routes.isOurs(
        host: host, localAddress: request.localAddress, listening: address)
    else { throw HTTPError(421, "This is not \(host). Use the address or a name of the proxy.") }
  }

  private func say(_ error: HTTPError, to target: String) async {
    guard await !writer.hasBegun else { return await writer.abort() }
    var answer = OwnAnswer(error)
    // RFC 9110 §15.5.6.
    if error.status == 405 {
      answer.fields.append("Allow", Self.allowed[Self.path(of: target)] ?? "PURGE")
    }
    do {
      try await writer.send(answer, to: request.head)
    } catch {
      await writer.abort()
    }
  }

  private func answer(_ target: String) async throws -> OwnAnswer {
    let head = request.head
    // A page of another site has the browser's right to reach this computer, and no other.
    guard
      head.isGET || head.isHEAD
        || !Self.policy.isFromAnotherSite(head.fields, host: head.fields["Host"])
    else { throw HTTPError(403, "A page of another site may not send a \(head.method) here.") }
    switch (head.isHEAD ? "GET" : head.method, Self.path(of: target)) {
    case ("PURGE", _):
      return try await OwnAnswer(json: service.purge(target: target))
    case ("POST", "/purge"):
      let type = head.fields["Content-Type"]?.prefix { $0 != ";" }.trimmingOWS.lowercased()
      guard type == "application/json" else {
        throw HTTPError(415, "A purge needs a body of the type application/json.")
      }
      let body = try await writer.body(limit: 1 << 20)
      return try await OwnAnswer(json: service.purge(body: body))
    case ("GET", "/health"):
      let report = try await health(query: target.drop { $0 != "?" }.dropFirst())
      return try OwnAnswer(json: report, status: report.httpStatus)
    case ("GET", "/metrics"):
      let format = MetricsText.Format(head.fields)
      let metrics = Metrics(
        node: service.configuration.nodeName, isDraining: service.isDraining,
        connections: service.connections.current, traffic: service.traffic.values,
        cache: await service.cache.figures(), process: .now())
      var answer = OwnAnswer(type: format.contentType, Array(metrics.text(format).utf8))
      answer.fields.append("Vary", "Accept")
      return answer
    case (_, let path) where Self.allowed[path] == nil:
      throw HTTPError(404, "No page exists at this path. See /health and /metrics.")
    default:
      throw HTTPError(405, "This page does not serve \(head.method).")
    }
  }

  /// - Parameter query: asks for the origin, too, with a parameter of that name.
  private func health(query: Substring = "") async throws(HTTPError) -> HealthCheck.Report {
    let asksOrigin = query.split(separator: "&").contains { $0.prefix { $0 != "=" } == "origin" }
    let origin = asksOrigin ? service.configuration.origin : nil
    guard !asksOrigin || origin != nil else {
      throw HTTPError(400, "This proxy serves many origins. Omit the parameter 'origin'.")
    }
    return await service.health.report(
      isDraining: service.closesConnections, node: service.configuration.nodeName, asking: origin)
  }
}

extension ResponseWriter {
  /// Returns the whole body of the request.
  ///
  /// - Throws: 413 if it is longer than `limit`.
  func body(limit: Int) async throws -> [UInt8] {
    var body: [UInt8] = []
    while let part = try await nextBodyPart() {
      guard body.count + part.readableBytes <= limit else {
        throw HTTPError(413, "The body is longer than \(limit) bytes.")
      }
      body += part.readableBytesView
    }
    return body
  }
}
