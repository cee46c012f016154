// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainLocks

/// Writes the response to one request from a task, and records what is logged of it. Each write
/// waits until the socket has accepted its bytes: a slow client costs no memory.
final class Delivery: Sendable {
  struct Record: Sendable {
    /// Its URL is empty until one is requested from the origin.
    var served: ServedRequest
    /// Whether the request is neither logged nor counted.
    var isSilent: Bool
    /// The seconds to the head of the response; nil before the connection has it.
    var firstByte: Double?
  }

  private let setup: ConnectionSetup
  let request: ClientRequest
  private let connection: NIOLoopBound<ProxyConnection>
  /// Distinguishes the request: late writes must not reach the next response.
  private let number: UInt64
  private let gate: (any ClientGate)?
  private let record: Mutex<Record>

  init(
    _ setup: ConnectionSetup, _ request: ClientRequest,
    on connection: NIOLoopBound<ProxyConnection>, number: UInt64, gate: (any ClientGate)?
  ) {
    (self.setup, self.request, self.connection) = (setup, request, connection)
    (self.number, self.gate) = (number, gate)
    record = Mutex(
      Record(
        served: ServedRequest(
          method: request.head.method, url: "", status: 0, source: .proxy, client: request.client),
        isSilent: setup.front == nil))
  }

  var service: ProxyService { setup.service }

  func note(_ change: (inout Record) -> Void) { record.withLock { change(&$0) } }

  /// - Parameter body: not called for HEAD, and for statuses without one. Runs on the connection's
  ///   event loop, and must not block. From another thread, each part would wake the loop, and its
  ///   end that thread.
  func send(
    _ head: ResponseHead, length: Int64?, _ body: () async throws -> Void = {}
  ) async throws {
    var head = head
    let mayHaveBody = ![204, 304].contains(head.status)
    head.length = mayHaveBody ? length : nil
    head.hasBody = mayHaveBody && !request.head.isHEAD
    let seconds = ProxyConnection.seconds(since: request.started)
    note { [status = head.status] in ($0.served.status, $0.firstByte) = (status, seconds) }
    try await perform { [head] in $0.write(head) }
    if head.hasBody { try await withTaskExecutorPreference(self) { try await body() } }
    try await perform { $0.endAnswer() }
  }

  /// Sends a response that comes from no origin: a handler's, or the proxy's own.
  func send(_ response: ProxyResponse) async throws {
    guard (200...599).contains(response.status) else {
      throw HTTPError(500, "This proxy made a response with the status \(response.status).")
    }
    let response = setup.front == nil ? response.unlogged : response
    note { record in
      record.served.error = response.error
      record.isSilent = !response.isLogged
    }
    let head = ResponseHead(
      status: response.status,
      fields: service.fields.completed(
        ResponseFields.valid(response.fields), isForWebOrigin: response.isForWebOrigin))
    let write: @Sendable (Data) async throws -> Void = { [self] in
      try await self.write(ByteBuffer(bytes: $0))
    }
    switch response.body {
    case .data(let data): try await send(head, length: Int64(data.count)) { try await write(data) }
    case .stream(let body):
      try await send(head, length: nil) {
        let writer = ProxyBodyWriter(accept: write) { [self] in await isWanted }
        try await withTaskExecutorPreference(globalConcurrentExecutor) { try await body(writer) }
      }
    }
  }

  /// Responds with the status of an error; if a response has begun, aborts it.
  func send(_ error: HTTPError) async {
    // Only the end of the connection cancels the task: nothing can be sent, and that is no error.
    guard !Task.isCancelled else { return abort() }
    note { $0.served.error = error.reason }
    guard !hasBegun else { return abort() }
    var response = ProxyResponse(error)
    note { record in
      record.served.source = .proxy
      if record.isSilent { response = response.unlogged }
    }
    response.error = error.reason
    do { try await send(response) } catch { abort() }
  }

  /// Sends an interim response (RFC 9110 §15.2), if the final one has not begun yet. Does not wait.
  func sendInterim(_ status: Int, _ fields: HeaderFields) {
    performSoon { $0.writeInterim(status, fields) }
  }

  /// Closes the connection in the middle of the response.
  func abort() { performSoon { $0.abortAnswer() } }

  private func performSoon(_ work: @Sendable @escaping (ProxyConnection) -> Void) {
    connection.eventLoop.execute { [connection, number] in
      if connection.value.isAnswering(number) { work(connection.value) }
    }
  }

  var hasBegun: Bool { record.withLock { $0.firstByte != nil } }

  private var isWanted: Bool {
    get async {
      let isOpen: Void? = try? await perform { [eventLoop = connection.eventLoop] in
        $0.isClosing ? nil : eventLoop.makeSucceededVoidFuture()
      }
      return isOpen != nil && !service.isStopping
    }
  }

  func write(_ bytes: ByteBuffer) async throws {
    var rest = bytes
    while let part = rest.readSlice(length: min(rest.readableBytes, gate?.longestPiece ?? .max)),
      part.readableBytes > 0
    {
      try await perform { $0.write(part) }
      try await noteSent(Int64(part.readableBytes))
    }
  }

  /// Counts each part once the socket has accepted it; `stored` was stored before the request.
  func write(_ file: EntryFile, _ range: ByteRange, stored: RangeSet<Int64>) async throws {
    let sendsFiles = setup.settings.sendsFiles
    let step = Int64(min(gate?.longestPiece ?? .max, sendsFiles ? .max : Self.longestCopy))
    var offset = range.lowerBound
    while offset < range.upperBound {
      let part = offset..<(range.upperBound - offset > step ? offset + step : range.upperBound)
      offset = part.upperBound
      if sendsFiles {
        try await perform { $0.write(file, part) }
      } else {
        let bytes = await IOThreads.shared.run {
          var bytes = ByteBuffer()
          bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: part.count) { space in
            let space = UnsafeMutableRawBufferPointer(rebasing: space[..<part.count])
            return file.copy(into: space, at: part.lowerBound) ?? 0
          }
          return bytes
        }
        // Truncated by another program, or unreadable: the client must not take a part for the whole.
        guard bytes.readableBytes == part.count else { throw FileEnded() }
        try await perform { $0.write(bytes) }
      }
      try await noteSent(Int64(part.count), stored: stored.byteCount(in: part))
    }
  }

  /// The most bytes read from a file at a time.
  static let longestCopy = 256 << 10

  /// Counts bytes that the socket has accepted, and waits until more may be sent.
  private func noteSent(_ count: Int64, stored: Int64 = 0) async throws {
    let isSilent = record.withLock { record in
      record.served.bytesSent += count
      record.served.bytesFromCache += stored
      return record.isSilent
    }
    if !isSilent { service.traffic.noteSent(count) }
    try await gate?.pace(request.client, after: Int(count))
  }

  /// Returns nil at the end of the request's body.
  func nextBodyPart() async throws -> ByteBuffer? { try await perform { $0.nextBodyPart() } }

  /// Throws 413 if the body is longer than `limit` bytes.
  func body(limit: Int) async throws -> [UInt8] {
    var body: [UInt8] = []
    while let part = try await nextBodyPart() {
      guard body.count + part.readableBytes <= limit else {
        throw HTTPError(413, "The body is longer than \(limit) bytes.")
      }
      body += part.readableBytesView
    }
    return body
  }

  /// Throws `ClientDisconnected` if the connection does not respond to this request any more.
  private func perform<Value: Sendable>(
    _ work: @Sendable (ProxyConnection) -> EventLoopFuture<Value>?
  ) async throws -> Value {
    try await withTaskExecutorPreference(self) {
      guard connection.value.isAnswering(number), let done = work(connection.value)
      else { throw ClientDisconnected() }
      return try await done.get()
    }
  }

  func log() {
    var record = record.withLock { $0 }
    guard !record.isSilent else { return }
    record.served.seconds = ProxyConnection.seconds(since: request.started)
    service.note(record.served, of: request.head, firstByte: record.firstByte)
  }
}

/// Runs tasks on the connection's event loop, after what it does at the moment.
extension Delivery: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    connection.eventLoop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}

struct FileEnded: Error {}
