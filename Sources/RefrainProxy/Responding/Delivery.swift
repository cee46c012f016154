// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainLocks

/// The response to one request on its way to the client: sends it, and records what is logged of it.
final class Delivery: Sendable {
  struct Record: Sendable {
    /// The URL requested from the origin; nil if there is none.
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

  let service: ProxyService
  let request: ClientRequest
  let writer: ResponseWriter
  /// Whether the client is at the operator's listener: nothing is logged or counted.
  private let isOperators: Bool
  private let record = Mutex(Record())

  init(
    _ service: ProxyService, _ request: ClientRequest, _ writer: ResponseWriter,
    isOperators: Bool = false
  ) {
    (self.service, self.request, self.writer) = (service, request, writer)
    self.isOperators = isOperators
  }

  func note(_ change: (inout Record) -> Void) { record.withLock { change(&$0) } }

  // MARK: Sending

  /// Writes the head, with the framing of the body.
  ///
  /// - Parameters:
  ///   - length: that of the body; nil if it is unknown.
  ///   - isCounted: whether the time to it is counted.
  /// - Returns: whether the body has to be written: HEAD and some statuses have none.
  @discardableResult
  func begin(
    _ head: ResponseHead, length: Int64?, isCounted: Bool = true
  ) async throws -> Bool {
    var head = head
    let mayHaveBody = ![204, 304].contains(head.status)
    head.length = mayHaveBody ? length : nil
    head.hasBody = mayHaveBody && !request.head.isHEAD
    note { $0.status = head.status }
    try await writer.begin(head)
    if isCounted {
      service.traffic.noteFirstByte(after: ProxyConnection.seconds(since: request.started))
    }
    return head.hasBody
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
      record.bytesSent += count
      record.bytesFromCache += stored
    }
    service.traffic.noteSent(count)
  }

  /// Sends a response that comes from no origin: a handler's, or the proxy's own.
  func send(_ response: ProxyResponse) async throws {
    guard (200...599).contains(response.status) else {
      throw HTTPError(500, "This proxy made a response with the status \(response.status).")
    }
    note { record in
      record.error = response.error
      record.isSilent = isOperators || !response.isLogged
    }
    let fields = service.fields.own(
      response.fields, isForWebOrigin: response.isForWebOrigin && !isOperators)
    let head = ResponseHead(status: response.status, fields: fields)
    let isCounted = response.isCounted && !isOperators
    let write: @Sendable (Data) async throws -> Void = { [self] data in
      let bytes = ByteBuffer(bytes: data)
      if isCounted { try await self.write(bytes) } else { try await writer.write(bytes) }
    }
    switch response.body {
    case .data(let data):
      if try await begin(head, length: Int64(data.count), isCounted: isCounted) {
        try await write(data)
      }
    case .stream(let body):
      if try await begin(head, length: nil, isCounted: isCounted) {
        try await body(ProxyBodyWriter(accept: write) { [writer] in await writer.isWanted })
      }
    }
    try await writer.end()
  }

  /// Responds to an error: with its status, if nothing is sent yet.
  func send(_ error: HTTPError) async {
    note { $0.error = error.reason }
    guard await !writer.hasBegun else { return await writer.abort() }
    var response = ProxyResponse(error)
    if error.status == 405 {
      response.fields.append("Allow", error.allow ?? service.requestPolicy.allow)
    }
    let isSilent = record.withLock { record in
      record.source = .proxy
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
    guard !record.isSilent, !isOperators else { return }
    let seconds = ProxyConnection.seconds(since: request.started)
    service.traffic.note(
      Traffic.Outcome(
        source: record.source, bytesSent: record.bytesSent, savedBytes: record.bytesFromCache,
        isJoined: record.isJoined, hasError: record.error != nil, seconds: seconds))
    service.log.note(request.head) {
      var served = ServedRequest(
        method: request.head.method, url: record.url ?? service.routes.shown(request.head.target),
        status: record.status, range: record.range, bytesSent: record.bytesSent,
        source: record.source, seconds: seconds, client: request.client, error: record.error)
      served.bytesFromCache = record.bytesFromCache
      return served
    }
  }
}
