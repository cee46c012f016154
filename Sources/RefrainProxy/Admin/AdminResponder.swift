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
        !service.adminRoutes.servesEverywhere(request.head.method)
      {
        var answer = PageAnswer(
          service: service, page: page, request: request, writer: writer, report: AnswerReport(),
          target: target)
        answer.isOnOtherListener = true
        return try await answer.run()
      }
      try await answer(target)
    }
  }

  /// Responds to a target whose token was removed.
  func run(target: String) async {
    await responding(to: target) { try await answer(target) }
  }

  /// Responds to a balancer at the proxy's own address.
  func runHealth() async {
    await responding(to: request.head.target) {
      try check(listening: service.knownAddress)
      try await send(await service.healthForClients())
    }
  }

  private func responding(to target: String, _ work: () async throws -> Void) async {
    do {
      try await work()
    } catch let error as HTTPError {
      await say(error, to: target)
    } catch is ClientDisconnected {
      await writer.abort()
    } catch is CancellationError {
      await writer.abort()
    } catch let error as MediaCacheError {
      await say(Responder.httpError(for: error), to: target)
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

  private func answer(_ target: String) async throws {
    let head = request.head
    let method = head.method
    let fields = head.fields
    let path = String(target.prefix { $0 != "?" })
    let query = target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    let handler = try service.adminRoutes.handler(method, path)
    if method != "GET", method != "HEAD" {
      // A page of another site has the browser's right to reach this computer, and no other.
      guard !Self.policy.isFromAnotherSite(fields, host: fields["Host"]) else {
        throw HTTPError(403, "A page of another site may not send a \(method) here.")
      }
    }
    let writer = writer
    let answer = try await handler(
      service,
      AdminRequest(
        method: method, path: path, query: query, fields: fields,
        nextBodyPart: { try await writer.nextBodyPart().map { Array($0.readableBytesView) } }))
    try await send(answer)
  }

  private func send(_ answer: AdminAnswer) async throws {
    var fields = answer.fields
    fields.append("Date", HTTPDate.format(Date()))
    if fields["Cache-Control"] == nil { fields.append("Cache-Control", "no-store") }
    var body: ResponseHead.Body
    switch answer.body {
    case .bytes(let bytes): body = .length(Int64(bytes.count))
    case .stream: body = .open
    }
    let isHEAD = request.head.isHEAD
    if isHEAD {
      body = if case .length(let length) = body { .omitted(length) } else { .omitted(nil) }
    }
    try await writer.begin(
      ResponseHead(status: answer.status, fields: fields, body: body, isMeasured: false))
    if !isHEAD {
      switch answer.body {
      case .bytes(let bytes):
        if !bytes.isEmpty { try await writer.write(ByteBuffer(bytes: bytes)) }
      case .stream(let parts):
        for await part in parts where !part.isEmpty {
          try await writer.write(ByteBuffer(bytes: part))
        }
      }
    }
    try await writer.end()
  }

  private func say(_ error: HTTPError, to target: String) async {
    guard await !writer.hasBegun else { return await writer.abort() }
    var fields = HeaderFields()
    // RFC 9110 §15.5.6.
    if error.status == 405 {
      fields.append("Allow", service.adminRoutes.allow(String(target.prefix { $0 != "?" })))
    }
    let isHEAD = request.head.isHEAD
    do {
      var (head, body) = OwnAnswer.make(error, fields: fields)
      head.isMeasured = false
      if isHEAD { head.body = .omitted(Int64(body.utf8.count)) }
      try await writer.begin(head)
      if !isHEAD { try await writer.write(ByteBuffer(string: body)) }
      try await writer.end()
    } catch {
      await writer.abort()
    }
  }
}
