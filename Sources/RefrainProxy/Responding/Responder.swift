// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainStreams

/// Responds to one request that cannot be served at once: by the first of the operator's handlers,
/// the app's, the cache and the relay that takes it.
struct Responder: Sendable {
  let delivery: Delivery

  private var service: ProxyService { delivery.service }
  private var request: ClientRequest { delivery.request }

  func run(_ front: FrontHandlers) async {
    await run {
      if let refusal = request.refusal { throw refusal }
      if try await askHandlers(front) { return }
      let exchange = try await exchange()
      if let response = try ownResponse() { return try await delivery.send(response) }
      let head = request.head
      if head.isGET || head.isHEAD {
        guard !head.hasBody else {
          throw HTTPError(400, "This proxy does not accept a \(head.method) with a body.")
        }
        return try await CachedAnswer(exchange).run()
      }
      try service.rules.check(head.method, head.fields)
      try await exchange.relay(.method)
    }
  }

  /// Responds by `body`, or to its error, and logs the request.
  func run(_ body: () async throws -> Void) async {
    do {
      try await body()
    } catch let error as HTTPError {
      await delivery.send(error)
    } catch is ClientDisconnected, is CancellationError {
      delivery.abort()
    } catch let error as MediaCacheError {
      await delivery.send(HTTPError(error))
    } catch {
      // Usually a broken connection, which leaves no client to respond to: that is no error.
      if delivery.hasBegun {
        delivery.abort()
      } else {
        await delivery.send(HTTPError(502, "The request to the origin failed: \(error)."))
      }
    }
    delivery.log()
  }

  // MARK: Handlers

  /// Asks the operator's handlers, and then the app's. Returns whether one of them has responded.
  private func askHandlers(_ front: FrontHandlers) async throws -> Bool {
    let head = request.head
    if let open = front.open, front.isOpen(to: head) {
      delivery.note { $0.isSilent = true }
      _ = try service.routes.ownTarget(of: request)
      return try await ask([open.handler], target: head.target)
    }
    guard let target = try handlersTarget(front) else { return false }
    delivery.note { $0.isSilent = true }
    if try await ask(front.handlers, target: target) { return true }
    delivery.note { $0.isSilent = false }
    let own = service.rules.handlers
    guard !own.isEmpty, target.hasPrefix("/"), head.method != "TRACE" else { return false }
    // Those that may change something. A page of another site can have the browser send them.
    if !["GET", "HEAD", "OPTIONS"].contains(head.method) {
      try service.rules.checkSite(of: head.method, head.fields)
    }
    return try await ask(own, target: target)
  }

  /// Returns the target as handlers see it, without the token; nil if it can be none of theirs.
  @inline(never)
  private func handlersTarget(_ front: FrontHandlers) throws -> String? {
    guard !front.handlers.isEmpty || !service.rules.handlers.isEmpty else { return nil }
    var target = String(try service.routes.ownTarget(of: request))
    guard service.routes.mayBeOurs(target: target) else { return nil }
    if let token = service.routes.token { target.removeFirst(1 + token.utf8.count) }
    return target
  }

  /// Returns whether one of them has responded.
  func ask(_ handlers: [any ProxyHandler], target: String) async throws -> Bool {
    // The body cannot be read again.
    let hasReadBody = Atomic(false)
    let asked = ProxyRequest(request, target: target) { [delivery] limit in
      hasReadBody.store(true, ordering: .relaxed)
      return try await delivery.body(limit: limit)
    }
    for handler in handlers {
      let response: ProxyResponse?
      do {
        response = try await handler.response(to: asked)
      } catch {
        if error is HTTPError || error is MediaCacheError || error is ClientDisconnected {
          throw error
        }
        if Task.isCancelled { throw CancellationError() }
        throw failure(of: handler, at: target, "failed: \(error)")
      }
      if let response {
        try await delivery.send(response)
        return true
      }
      guard !hasReadBody.load(ordering: .relaxed) else {
        throw failure(of: handler, at: target, "has read the body, and does not respond")
      }
    }
    return false
  }

  private func failure(of handler: any ProxyHandler, at target: String, _ what: String) -> HTTPError
  {
    service.cache.report(warning: "The handler \(type(of: handler)), asked for \(target), \(what).")
    return HTTPError(500, "This proxy could not make the response.")
  }

  // MARK: The origin's resources

  private func exchange() async throws -> Exchange {
    let fields = request.head.fields
    let named = try service.routes.named(by: request)
    delivery.note { $0.served.url = named.url.absoluteString }
    if service.originFields.hasSent(fields) { throw HTTPError.loop }
    var session: StreamSession?
    if let id = named.session { session = await service.sessions.find(id) }
    let sent = service.originFields.ofClient(fields) {
      service.routes.isOwn(referrer: $0, of: request)
    }
    let exchange = Exchange(
      delivery: delivery, url: named.url, session: session,
      sendsOwnFields: named.session == nil || session?.isOwn(named.url) == true,
      fields: session?.complete(sent, for: named.url) ?? sent)
    await exchange.noticeRemoval()
    return exchange
  }

  /// Returns nil for a method that does not concern the proxy itself.
  private func ownResponse() throws(HTTPError) -> ProxyResponse? {
    let fields = request.head.fields
    switch request.head.method {
    case "OPTIONS"
    where service.rules.allowedWebOrigin != nil
      && fields["Access-Control-Request-Method"] != nil:
      return ProxyResponse(status: 204, fields: ResponseFields.preflight(fields))
    case "OPTIONS" where request.head.target == "*":
      // A question about this server (RFC 9110 §9.3.7), and not about the origin's root.
      return ProxyResponse(status: 204, fields: ["Allow": service.rules.allow])
    case "TRACE":
      throw HTTPError(405, "This proxy does not serve TRACE.", allow: service.rules.allow)
    default: return nil
    }
  }
}
