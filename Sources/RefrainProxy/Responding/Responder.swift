// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainLocks

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
    let sent = service.fields(of: request)
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
    service.configuration.allowedWebOrigin != nil
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
    guard let log = service.log else { return }
    var served = ServedRequest(
      method: method, url: values.url ?? service.routes.shown(request.head.target),
      status: values.status, range: values.range, bytesSent: values.bytesSent,
      source: values.source, seconds: seconds, client: request.client, error: values.error)
    served.bytesFromCache = values.bytesFromCache
    served.addFields(of: request.head, service)
    log(served)
  }
}

/// One request with the context of its response.
struct Exchange: Sendable {
  let service: ProxyService
  let request: ClientRequest
  let writer: ResponseWriter
  let report: AnswerReport
  let url: URL
  /// The session of the stream to which the URL belongs.
  let session: StreamSession?
  /// Whether the proxy's own fields are for the URL's host. A playlist of another host may have
  /// named it.
  let sendsOwnFields: Bool
  /// The target as received.
  let target: String
  /// The request's fields that are for an origin, with those of the session.
  let fields: HeaderFields

  /// The path and query of the request's target.
  var clientTarget: String {
    target.hasPrefix("/") ? target : ProxyURL.splitAbsolute(target)?.target ?? "/"
  }
}

/// The facts recorded for the log while a response is sent.
final class AnswerReport: Sendable {
  struct Values: Sendable {
    var url: String?
    var status = 0
    var range: ByteRange?
    var bytesSent: Int64 = 0
    /// Those of them that were stored before the request.
    var bytesFromCache: Int64 = 0
    /// Whether the request is neither logged nor counted.
    var isSilent = false
    var source = ServedRequest.Source.proxy
    var error: String?
    /// Whether it shares a request to the origin.
    var isJoined = false
  }

  private let state = Mutex(Values())

  var values: Values { state.withLock { $0 } }

  func note(_ change: (inout Values) -> Void) {
    state.withLock { change(&$0) }
  }
}
