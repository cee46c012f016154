// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainLocks

/// The response to one request on its way to the client: sends it, and records what is logged of it.
final class Delivery: Sendable {
  struct Record: Sendable {
    /// What is logged. Its URL is empty until one is requested from the origin.
    var served: ServedRequest
    /// Whether the request is neither logged nor counted.
    var isSilent: Bool
    /// Whether it shares a request to the origin.
    var isJoined = false
    /// Whether a handler has read the request's body, which nobody else can read again.
    var hasReadBody = false
  }

  let service: ProxyService
  let request: ClientRequest
  let writer: ResponseWriter
  /// Whether the client is at the operator's listener: nothing is logged or counted.
  private let isOperators: Bool
  private let record: Mutex<Record>

  init(
    _ service: ProxyService, _ request: ClientRequest, _ writer: ResponseWriter,
    isOperators: Bool = false
  ) {
    (self.service, self.request, self.writer) = (service, request, writer)
    self.isOperators = isOperators
    record = Mutex(
      Record(
        served: ServedRequest(
          method: request.head.method, url: "", status: 0, range: nil, bytesSent: 0, source: .proxy,
          seconds: 0, client: request.client, error: nil),
        isSilent: isOperators))
  }

  func note(_ change: (inout Record) -> Void) { record.withLock { change(&$0) } }

  var hasReadBody: Bool { record.withLock(\.hasReadBody) }

  // MARK: Sending

  /// Sends a response.
  ///
  /// - Parameters:
  ///   - length: that of the body; nil if it is unknown.
  ///   - isCounted: whether the time to it is counted.
  ///   - body: writes the body; not called for HEAD, and for statuses without one.
  func send(
    _ head: ResponseHead, length: Int64?, isCounted: Bool = true,
    _ body: () async throws -> Void = {}
  ) async throws {
    var head = head
    let mayHaveBody = ![204, 304].contains(head.status)
    head.length = mayHaveBody ? length : nil
    head.hasBody = mayHaveBody && !request.head.isHEAD
    note { $0.served.status = head.status }
    let seconds = ProxyConnection.seconds(since: request.started)
    try await writer.begin(head)
    if isCounted { service.traffic.noteFirstByte(after: seconds) }
    if head.hasBody { try await body() }
    try await writer.end()
  }

  /// Writes a part of the body; returns once the socket has accepted it.
  func write(_ bytes: ByteBuffer) async throws {
    guard bytes.readableBytes > 0 else { return }
    try await writer.write(bytes)
    noteSent(Int64(bytes.readableBytes))
  }

  /// - Parameter stored: the number of those that were stored before the request.
  func noteSent(_ count: Int64, stored: Int64 = 0) {
    note { record in
      record.served.bytesSent += count
      record.served.bytesFromCache += stored
    }
    service.traffic.noteSent(count)
  }

  /// Sends a response that comes from no origin: a handler's, or the proxy's own.
  func send(_ response: ProxyResponse) async throws {
    guard (200...599).contains(response.status) else {
      throw HTTPError(500, "This proxy made a response with the status \(response.status).")
    }
    let response = isOperators ? response.unlogged : response
    note { record in
      record.served.error = response.error
      record.isSilent = !response.isLogged
    }
    let head = ResponseHead(
      status: response.status,
      fields: service.fields.own(response.fields, isForWebOrigin: response.isForWebOrigin))
    let isCounted = response.isCounted
    let write: @Sendable (Data) async throws -> Void = { [self] data in
      let bytes = ByteBuffer(bytes: data)
      if isCounted { try await self.write(bytes) } else { try await writer.write(bytes) }
    }
    switch response.body {
    case .data(let data):
      try await send(head, length: Int64(data.count), isCounted: isCounted) {
        try await write(data)
      }
    case .stream(let body):
      try await send(head, length: nil, isCounted: isCounted) {
        try await body(ProxyBodyWriter(accept: write) { [writer] in await writer.isWanted })
      }
    }
  }

  /// Responds to an error: with its status, if nothing is sent yet.
  func send(_ error: HTTPError) async {
    note { $0.served.error = error.reason }
    guard await !writer.hasBegun else { return await writer.abort() }
    var response = ProxyResponse(error)
    if error.status == 405 {
      response.fields.append("Allow", error.allow ?? service.rules.allow)
    }
    let isSilent = record.withLock { record in
      record.served.source = .proxy
      return record.isSilent
    }
    if isSilent { response = response.unlogged }
    response.error = error.reason
    do { try await send(response) } catch { await writer.abort() }
  }

  // MARK: The log

  /// Logs and counts the request, which has ended.
  func log() {
    let record = record.withLock { $0 }
    guard !record.isSilent else { return }
    var served = record.served
    served.seconds = ProxyConnection.seconds(since: request.started)
    service.traffic.note(
      Traffic.Outcome(
        source: served.source, bytesSent: served.bytesSent, savedBytes: served.bytesFromCache,
        isJoined: record.isJoined, hasError: served.error != nil, seconds: served.seconds))
    service.log.note(request.head) {
      if served.url.isEmpty { served.url = service.routes.shown(request.head.target) }
      return served
    }
  }
}
