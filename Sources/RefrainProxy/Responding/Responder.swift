// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// Responds to one request that cannot be served at once: determines the URL and the kind of
/// response, and reports errors.
struct Responder: Sendable {
  let service: ProxyService
  let request: ClientRequest
  let writer: ResponseWriter
  /// Whether pages of the allowed web origin may read errors.
  var isForWebOrigin = true
  let report = AnswerReport()

  /// Responds to a client.
  func run(_ front: FrontHandlers) async {
    await run {
      if let refusal = request.refusal { throw refusal }
      if try await askHandlers(front) { return }
      let exchange = try await exchange()
      if try await respondToMethod(exchange) { return }
      try await respond(to: exchange)
    }
  }

  /// Responds by `answer`, or to its error, and logs the request.
  func run(_ answer: () async throws -> Void) async {
    do {
      try await answer()
    } catch let httpError as HTTPError {
      await say(httpError)
    } catch is ClientDisconnected {
      await writer.abort()
    } catch is CancellationError {
      await writer.abort()
    } catch let error as MediaCacheError {
      await say(HTTPError(error))
    } catch {
      // Usually a broken connection, which leaves no client to respond to: that is no error.
      if await writer.hasBegun {
        await writer.abort()
      } else {
        await say(HTTPError(502, "The request to the origin failed: \(error)."))
      }
    }
    log(request.head.method)
  }

  /// Responds from the cache, or with what the origin sends, unchanged and not stored.
  private func respond(to exchange: Exchange) async throws {
    let head = request.head
    guard (head.isGET || head.isHEAD) && [.none, .length(0)].contains(head.framing) else {
      let fields = head.fields
      try service.requestPolicy.check(head.method, fields, host: fields["Host"])
      return try await RelayedAnswer(exchange: exchange, reason: .method).run()
    }
    switch try await CachedAnswer(exchange: exchange).run() {
    case .sent: break
    case .relayed(let reason, let asksWhole):
      try await RelayedAnswer(exchange: exchange, reason: reason, asksWhole: asksWhole).run()
    case .received(let response, let isJoined):
      try await RelayedAnswer(exchange: exchange, reason: .uriMiss)
        .pass(response, isJoined: isJoined)
    }
  }

  /// Responds to the methods that concern the proxy itself. Returns whether it did.
  private func respondToMethod(_ exchange: Exchange) async throws -> Bool {
    let fields = request.head.fields
    let sent: HeaderFields
    switch request.head.method {
    case "OPTIONS"
    where service.rules.allowedWebOrigin != nil
      && fields["Access-Control-Request-Method"] != nil:
      sent = service.fields.preflight(fields)
    case "OPTIONS" where exchange.target == "*":
      // A question about this server (RFC 9110 §9.3.7), and not about the origin's root.
      sent = ["Date": HTTPDate.format(Date()), "Allow": service.requestPolicy.allow]
    case "TRACE": throw HTTPError(405, "This proxy does not serve TRACE.")
    default: return false
    }
    report.note { $0.status = 204 }
    try await writer.begin(ResponseHead(status: 204, fields: sent, body: .none))
    try await writer.end()
    return true
  }

  /// Determines the URL, and the session of its stream.
  ///
  /// - Throws: `HTTPError` if the request names none that may be requested.
  private func exchange() async throws -> Exchange {
    let fields = request.head.fields
    let target = request.head.target
    let named = try service.routes.named(
      by: request.head, target: target, localAddress: request.localAddress,
      listening: service.place.known)
    report.note { $0.url = named.url.absoluteString }
    if service.originFields.hasSent(fields) {
      throw HTTPError.loop
    }
    var session: StreamSession?
    if let id = named.session { session = await service.sessions.find(id) }
    let sent = service.originFields.ofClient(fields) {
      service.routes.referrer(
        $0, localAddress: request.localAddress, listening: service.place.known)
    }
    let exchange = Exchange(
      service: service, request: request, writer: writer, report: report, url: named.url,
      session: session, sendsOwnFields: named.session == nil || session?.isOwn(named.url) == true,
      target: target, fields: session?.complete(sent, for: named.url) ?? sent)
    await exchange.noticeRemoval()
    return exchange
  }

  // MARK: What went wrong

  private func say(_ httpError: HTTPError) async {
    report.note { $0.error = httpError.reason }
    guard await !writer.hasBegun else { return await writer.abort() }
    var response = ProxyResponse(httpError)
    // RFC 9110 §15.5.6.
    if httpError.status == 405 { response.fields.append("Allow", service.requestPolicy.allow) }
    if isForWebOrigin { service.fields.addWebOrigin(to: &response.fields) }
    report.note { values in
      (values.status, values.source) = (httpError.status, .proxy)
    }
    do {
      try await writer.send(response, response.fields, to: request.head) { [report] count in
        report.note { $0.bytesSent = count }
      }
    } catch {
      await writer.abort()
    }
  }

  private func log(_ method: String) {
    let values = report.values
    guard !values.isSilent else { return }
    let seconds = ProxyConnection.seconds(since: request.started)
    service.traffic.note(
      Traffic.Outcome(
        source: values.source, bytesSent: values.bytesSent, savedBytes: values.bytesFromCache,
        isJoined: values.isJoined, hasError: values.error != nil, seconds: seconds))
    service.log.note(request.head) {
      var served = ServedRequest(
        method: method, url: values.url ?? service.routes.shown(request.head.target),
        status: values.status, range: values.range, bytesSent: values.bytesSent,
        source: values.source, seconds: seconds, client: request.client, error: values.error)
      served.bytesFromCache = values.bytesFromCache
      return served
    }
  }
}
