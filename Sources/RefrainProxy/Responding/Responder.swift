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
      await say(Self.httpError(for: error))
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
    if try await answerByItself() { return }
    let named = try service.routes.named(
      by: request.head, target: target, localAddress: request.localAddress,
      listening: service.knownAddress)
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

  /// Responds to a request for the proxy itself: the operator's, the page's, or one that a handler
  /// takes. Returns whether it was.
  private func answerByItself() async throws -> Bool {
    let head = request.head
    let admin = AdminResponder(service: service, request: request, writer: writer)
    if service.isHealthCheck(head) {
      report.note { $0.isSilent = true }
      await admin.runHealth()
      return true
    }
    let token = service.routes.token
    let whole = ProxyURL.splitAbsolute(head.target)?.target ?? head.target
    guard token == nil ? !service.configuration.handlers.isEmpty : true,
      service.routes.mayBeOurs(target: whole)
    else { return false }
    let own = try service.routes.ownTarget(
      of: head, target: head.target, localAddress: request.localAddress,
      listening: service.knownAddress)
    guard let token else { return try await answerByHandler(String(own)) }
    // No proxied URL begins as the operator's targets do: a scheme, or `~` and a session, follows the
    // token.
    let target = String(own.dropFirst(1 + token.utf8.count))
    if AdminResponder.isTarget(target[...]) {
      report.note { $0.isSilent = true }
      await admin.run(target: target)
      return true
    }
    guard let page = service.page, PageAnswer.isTarget(target) else {
      return try await answerByHandler(target)
    }
    report.note { $0.isSilent = true }
    try await PageAnswer(
      service: service, page: page, request: request, writer: writer, report: report,
      target: target
    ).run()
    return true
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

  static func httpError(for error: MediaCacheError) -> HTTPError {
    let status =
      switch error.code {
      case .badURL: 400
      case .unreachable where error.isForLackOfDescriptors: 503
      case .unreachable: error.isTimeout ? 504 : 502
      case .offline: 504
      case .closed: 503
      case .storage, .inUse: 503
      case .redirect where error.status == nil: 403
      default: 502
      }
    return HTTPError(status, error.description)
  }

  private func log(_ method: String) {
    let values = report.values
    guard !values.isSilent || values.status >= 400 else { return }
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
    /// Whether the request is not logged: it was for the page, and succeeded.
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
