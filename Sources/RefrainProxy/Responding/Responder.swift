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
  let report = AnswerReport()

  init(service: ProxyService, request: ClientRequest, writer: ResponseWriter) {
    self.service = service
    self.request = request
    self.writer = writer
  }

  func run() async {
    if let refusal = request.refusal {
      await say(refusal)
      return log(request.head.method)
    }
    let method = request.head.method
    do {
      try await answer(method)
    } catch let httpError as HTTPError {
      await say(httpError)
    } catch is ClientDisconnected {
      await writer.abort()
    } catch is CancellationError {
      await writer.abort()
    } catch let error as MediaCacheError {
      await say(HTTPError(error))
    } catch {
      // Usually a broken connection, which leaves no client to respond to.
      if await !writer.hasBegun {
        await say(HTTPError(502, "The request to the origin failed: \(error)."))
      } else {
        await writer.abort()
      }
    }
    log(method)
  }

  private func answer(_ method: String) async throws {
    let fields = request.head.fields
    let target = request.head.target
    let row = HandlerRow(service: service, request: request, writer: writer, report: report)
    if try await row.run() { return }
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
    switch method {
    case "GET" where !hasBody, "HEAD" where !hasBody:
      try await CachedAnswer(exchange: exchange).run()
    case "OPTIONS" where isPreflight(fields):
      try await sendEmpty(service.fields.preflight(fields))
    case "OPTIONS" where target == "*":
      // A question about this server (RFC 9110 §9.3.7), and not about the origin's root.
      try await sendEmpty([
        "Date": HTTPDate.format(Date()), "Allow": service.requestPolicy.allow,
      ])
    case "TRACE":
      throw HTTPError(405, "This proxy does not serve TRACE.")
    default:
      try service.requestPolicy.check(method, fields, host: fields["Host"])
      try await RelayedAnswer(exchange: exchange, reason: .method).run()
    }
  }

  private func sendEmpty(_ fields: HeaderFields) async throws {
    try await writer.begin(ResponseHead(status: 204, fields: fields, body: .none))
    report.note { $0.status = 204 }
    try await writer.end()
  }

  private var hasBody: Bool { ![.none, .length(0)].contains(request.head.framing) }

  private func isPreflight(_ fields: HeaderFields) -> Bool {
    service.rules.allowedWebOrigin != nil
      && fields["Access-Control-Request-Method"] != nil
  }

  // MARK: What went wrong

  private func say(_ httpError: HTTPError) async {
    report.note { $0.error = httpError.reason }
    guard await !writer.hasBegun else { return await writer.abort() }
    var answer = OwnAnswer(httpError)
    // RFC 9110 §15.5.6.
    if httpError.status == 405 { answer.fields.append("Allow", service.requestPolicy.allow) }
    service.fields.addWebOrigin(to: &answer.fields)
    let length = request.head.isHEAD ? 0 : Int64(answer.body.count)
    report.note { values in
      (values.status, values.source) = (httpError.status, .proxy)
    }
    do {
      try await writer.send(answer, to: request.head, isMeasured: true)
      report.note { $0.bytesSent = length }
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
