// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Asks the handlers in front of the cache: the operator's, and then the app's.
extension Responder {
  /// Returns whether one of them has responded.
  func askHandlers(_ front: FrontHandlers) async throws -> Bool {
    let head = request.head
    if let open = front.open, open.isAsked(by: head) {
      report.note { $0.isSilent = true }
      try service.routes.checkHost(of: request, listening: service.place.known)
      return try await ask(
        [open.handler], ProxyRequest(request, target: head.target, body: writer.body(limit:)))
    }
    let own = service.rules.handlers
    let whole = ProxyURL.splitAbsolute(head.target)?.target ?? head.target
    guard !front.handlers.isEmpty || !own.isEmpty, service.routes.mayBeOurs(target: whole) else {
      return false
    }
    var target = String(
      try service.routes.ownTarget(
        of: head, target: head.target, localAddress: request.localAddress,
        listening: service.place.known))
    if let token = service.routes.token { target.removeFirst(1 + token.utf8.count) }
    let asked = ProxyRequest(request, target: target, body: writer.body(limit:))
    report.note { $0.isSilent = true }
    if try await ask(front.handlers, asked) { return true }
    report.note { $0.isSilent = false }
    guard !own.isEmpty, target.hasPrefix("/"), head.method != "TRACE", head.method != "CONNECT"
    else { return false }
    // Those that may change something. A page of another site can have the browser send them.
    guard
      ["GET", "HEAD", "OPTIONS"].contains(head.method)
        || !service.requestPolicy.isFromAnotherSite(head.fields, host: head.fields["Host"])
    else {
      throw HTTPError(
        403, "A page of another site may not send a \(head.method) through this proxy.")
    }
    return try await ask(own, asked)
  }

  /// Asks one after the other. Returns whether one of them has responded.
  func ask(
    _ handlers: [any ProxyHandler], _ asked: ProxyRequest, isLogged: Bool = true
  ) async throws -> Bool {
    for handler in handlers {
      guard let response = try await response(of: handler, to: asked) else {
        guard !asked.hasReadBody else {
          throw failure(of: handler, at: asked.target, "has read the body, and does not respond")
        }
        continue
      }
      try await send(response, isLogged: isLogged)
      return true
    }
    return false
  }

  private func response(
    of handler: any ProxyHandler, to asked: ProxyRequest
  ) async throws -> ProxyResponse? {
    do {
      return try await handler.response(to: asked)
    } catch let error as HTTPError {
      throw error
    } catch let error as MediaCacheError {
      throw error
    } catch let error as ClientDisconnected {
      throw error
    } catch {
      if Task.isCancelled { throw CancellationError() }
      throw failure(of: handler, at: asked.target, "failed: \(error)")
    }
  }

  private func failure(of handler: any ProxyHandler, at target: String, _ what: String) -> HTTPError
  {
    service.cache.report(warning: "The handler \(type(of: handler)), asked for \(target), \(what).")
    return HTTPError(500, "This proxy could not make the response.")
  }

  private func send(_ response: ProxyResponse, isLogged: Bool) async throws {
    guard (200...599).contains(response.status) else {
      throw HTTPError(500, "This proxy made a response with the status \(response.status).")
    }
    report.note { values in
      (values.status, values.error) = (response.status, response.error)
      values.isSilent = !isLogged || !response.isLogged
    }
    let fields = service.fields.own(response.fields, isForWebOrigin: response.isForWebOrigin)
    try await writer.send(response, fields, to: request.head) {
      [report, traffic = service.traffic] in
      guard response.isCounted else { return }
      let count = $0
      report.note { $0.bytesSent += count }
      traffic.noteSent(count)
    }
  }
}
