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
      // Usually a broken connection, which leaves no client to respond to.
      if await !writer.hasBegun {
        await say(HTTPError(502, "The request to the origin failed: \(error)."))
      } else {
        await writer.abort()
      }
    }
    log(request.head.method)
  }

  /// What responds to requests for the resources of origins, in this order. The last one takes all.
  private static let row: [any ExchangeHandler] = [
    MethodHandler(), CacheHandler(), RelayHandler(),
  ]

  private func answer() async throws {
    let front = HandlerRow(service: service, request: request, writer: writer, report: report)
    if try await front.run() { return }
    var exchange = try await exchange()
    for handler in Self.row {
      guard let rest = try await handler.respond(to: exchange) else { return }
      exchange = rest
    }
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
