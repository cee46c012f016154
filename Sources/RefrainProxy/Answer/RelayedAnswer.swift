// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// Answers with what the origin answers, unchanged: for what is not kept.
struct RelayedAnswer: Sendable {
  let exchange: Exchange
  /// Why it is not answered from the cache, as RFC 9211 §2.2 has it.
  let reason: CacheStatus.Forwarded
  /// No range is asked for, whatever the client wants: a range of an encoded body is of no use
  /// without the bytes before it.
  var asksWhole = false

  func run() async throws {
    let service = exchange.service
    let request = exchange.request.head
    var fields = service.originFields.forRelay(exchange.fields, referrer: exchange.referrer)
    if asksWhole {
      fields["Range"] = nil
      fields["If-Range"] = nil
    }
    exchange.report.note { $0.source = .relayed }
    if let filter = service.routes.filter, !filter.allows(exchange.url) {
      throw HTTPError(403, "\(exchange.url.host() ?? "That host") may not be asked.")
    }
    let isSafe = request.isGET || request.isHEAD
    let resource = CachedAnswer(exchange: exchange).resource
    if isSafe, let rest = service.cache.rest(of: resource) { throw HTTPError(rest) }
    let response = try await service.relay.send(
      method: request.method, url: exchange.url, fields: fields, framing: request.framing,
      writer: exchange.writer)
    if isSafe {
      service.cache.noteRest(of: resource, status: response.status, headers: response.headers)
    }
    await invalidate(request.method, response)
    await compare(request, response)
    try await pass(response, isHEAD: request.isHEAD)
  }

  // MARK: The response

  private func pass(_ response: OriginResponse, isHEAD: Bool) async throws {
    let writer = exchange.writer
    let declared = response.headers.values(of: "Content-Length").first.flatMap {
      Int64(digits: $0.trimmingOWS)
    }
    let body: ResponseHead.Body =
      switch response.status {
      case 204, 304: .none
      case _ where isHEAD: .omitted(declared)
      default: declared.map { .length($0) } ?? .open
      }
    var fields = exchange.service.fields.passable(HopByHop.removed(from: response.headers))
    fields["Content-Length"] = nil
    fields["Location"] = fields["Location"].map {
      exchange.service.routes.rewritten(location: $0, of: exchange.url)
    }
    if fields["Date"] == nil { fields.append("Date", HTTPDate.format(Date())) }
    exchange.service.fields.addWebOrigin(to: &fields)
    fields.append("Cache-Status", CacheStatus.forwarded(reason).value)
    exchange.report.note { $0.status = response.status }
    try await writer.begin(
      ResponseHead(status: response.status, fields: fields, body: body, isFetched: true))
    switch body {
    case .none, .omitted: break
    case .length, .open:
      for try await bytes in response.body {
        try await writer.write(ByteBuffer(bytes: bytes))
        exchange.report.note { $0.bytesSent += Int64(bytes.count) }
      }
    }
    try await writer.end()
  }

  // MARK: What it may have changed

  /// After an unsafe request that went well, what is stored of its target, and of where the answer
  /// points to, may be out of date (RFC 9111 §4.4).
  private func invalidate(_ method: String, _ response: OriginResponse) async {
    guard !["GET", "HEAD", "OPTIONS", "TRACE"].contains(method),
      (200..<400).contains(response.status)
    else { return }
    var urls = [exchange.url]
    for name in ["Location", "Content-Location"] {
      guard let text = response.headers[name], let url = URL(text: text, relativeTo: exchange.url),
        url.host()?.lowercased() == exchange.url.host()?.lowercased(),
        url.port == exchange.url.port, url.scheme == exchange.url.scheme
      else { continue }
      urls.append(url)
    }
    for url in urls {
      var resource = Resource(url: url)
      resource.filter = exchange.service.routes.filter
      exchange.service.invalidations.insert(
        exchange.service.cache.key(for: resource), at: exchange.service.cache.now.wall)
      // Where it cannot be opened, nothing is stored of it that could be used.
      try? await exchange.service.cache.invalidate(resource)
    }
  }

  /// What is stored may be found out to be out of date by what is passed on (RFC 9111 §4.3.5).
  private func compare(_ request: RequestHead, _ response: OriginResponse) async {
    guard request.isHEAD || request.isGET, response.status == 200,
      response.headers["Content-Encoding"] == nil
    else { return }
    let answer = CachedAnswer(exchange: exchange)
    let resource = answer.resource
    // A response to cookies says nothing about the one that is stored for others.
    guard !answer.isPersonal(resource) else { return }
    // Where it cannot be opened, nothing is stored of it that could be used.
    try? await exchange.service.cache.compare(
      resource, key: answer.key(for: resource), with: response.headers)
  }
}
