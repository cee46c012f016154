// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// Responds to one request for the page. The caller has checked that the request may come here: by
/// the token, or by the listener, and that Host names this proxy.
struct PageAnswer: Sendable {
  let service: ProxyService
  let page: Page
  let request: ClientRequest
  let writer: ResponseWriter
  let report: AnswerReport
  /// The target behind the token: `/`, or below `/page/`.
  let target: String
  /// Whether media are played from the proxy's own listener, while the page has another one.
  var isOnOtherListener = false

  private static let heartbeat: Duration = .seconds(15)

  private enum Place {
    case file(PageFile), state, events, stream, address, action
  }

  func run() async throws {
    let path = String(target.prefix { $0 != "?" })
    let method = request.head.method
    let fields = request.head.fields
    if path.isEmpty {
      try PageGuard.check(method, fields, host: fields["Host"], for: .document)
      return try await redirectToDirectory()
    }
    guard let place = Self.place(path) else {
      throw HTTPError(404, "The page has nothing at this URL.")
    }
    let kind: PageGuard.Kind =
      switch place {
      case .action: .change
      case .file(.document): .document
      default: .resource
      }
    do throws(HTTPError) {
      try PageGuard.check(method, fields, host: fields["Host"], for: kind)
    } catch {
      guard error.status == 405 else { throw error }
      return try await refuse(error, allow: kind == .change ? "POST" : "GET, HEAD")
    }
    switch place {
    case .file(let file): try await send(file.bytes, type: file.type)
    case .state: try await sendState()
    case .events: try await sendEvents()
    case .stream: try await sendStream()
    case .address: try await sendAddress()
    case .action: try await act()
    }
  }

  private static func place(_ path: String) -> Place? {
    switch path {
    case "/page/state": .state
    case "/page/events": .events
    case "/page/stream": .stream
    case "/page/address": .address
    case "/page/action": .action
    default: PageFile(path: path).map { .file($0) }
    }
  }

  private var isHEAD: Bool { request.head.isHEAD }

  /// The host by which the client has reached this machine.
  private var host: String? { request.head.fields["Host"] }

  // MARK: Sending

  private var fields: HeaderFields {
    let media =
      isOnOtherListener
      ? service.routes.base(listening: service.knownAddress, reachedAs: host)
        .map { String($0.dropLast()) } : nil
    var fields = PageGuard.fields(media: media)
    fields.append("Date", HTTPDate.format(Date()))
    return fields
  }

  private func head(
    _ status: Int, _ fields: HeaderFields, _ body: ResponseHead.Body
  ) -> ResponseHead {
    ResponseHead(status: status, fields: fields, body: body, isMeasured: false)
  }

  private func send(_ bytes: [UInt8], type: String, status: Int = 200) async throws {
    var fields = fields
    fields.append("Content-Type", type)
    let length = Int64(bytes.count)
    report.note { $0.status = status }
    try await writer.begin(head(status, fields, isHEAD ? .omitted(length) : .length(length)))
    if !isHEAD { try await writer.write(ByteBuffer(bytes: bytes)) }
    try await writer.end()
  }

  private func sendJSON(_ body: (inout PageJSON) -> Void) async throws {
    var json = PageJSON()
    json.object(body)
    try await send(json.bytes, type: "application/json")
  }

  /// Responds with the error and the fields of the page.
  private func refuse(_ error: HTTPError, allow: String? = nil) async throws {
    report.note { $0.error = error.reason }
    var fields = fields
    fields.append("Content-Type", "application/json")
    if let allow { fields.append("Allow", allow) }
    var json = PageJSON()
    json.object { $0.member("error", error.reason) }
    report.note { $0.status = error.status }
    let length = Int64(json.bytes.count)
    try await writer.begin(
      head(error.status, fields, isHEAD ? .omitted(length) : .length(length)))
    if !isHEAD { try await writer.write(ByteBuffer(bytes: json.bytes)) }
    try await writer.end()
  }

  /// The page's references are relative to a directory.
  private func redirectToDirectory() async throws {
    var fields = fields
    fields.append("Location", (service.routes.token.map { "/\($0)" } ?? "") + "/")
    report.note { $0.status = 308 }
    try await writer.begin(head(308, fields, .length(0)))
    try await writer.end()
  }

  // MARK: The state

  /// Waits until the directory has been looked at.
  private func waitUntilReady() async throws {
    while true {
      let (isReady, failure) = page.feed.readiness
      if isReady { return }
      if let failure { throw HTTPError(503, failure) }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private func sendState() async throws {
    page.feed.enter()
    defer { page.feed.leave() }
    try await waitUntilReady()
    var report = PageReport(page)
    let parts = report.news()
    let bytes =
      [UInt8(ascii: "[")] + parts.joined(separator: [UInt8(ascii: ",")])
      + [UInt8(ascii: "]")]
    try await send(bytes, type: "application/json")
  }

  /// Sends the state, and then its changes, until the client leaves or the proxy stops.
  ///
  /// Each part waits until the socket has accepted the one before. The changes since then become
  /// one part: a client that does not read costs no memory.
  private func sendEvents() async throws {
    page.feed.enter()
    defer { page.feed.leave() }
    try await waitUntilReady()
    var fields = fields
    fields.append("Content-Type", "text/event-stream")
    report.note { $0.status = 200 }
    try await writer.begin(head(200, fields, isHEAD ? .omitted(nil) : .open))
    var news = PageReport(page)
    var lastWrite = ContinuousClock.now
    while !isHEAD, !service.isStopping {
      guard await !writer.hasClientLeft else { break }
      for part in news.news() {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(part.count + 16)
        buffer.writeStaticString("data: ")
        buffer.writeBytes(part)
        buffer.writeStaticString("\n\n")
        try await writer.write(buffer)
        lastWrite = .now
      }
      if ContinuousClock.now - lastWrite > Self.heartbeat {
        try await writer.write(ByteBuffer(string: ":\n\n"))
        lastWrite = .now
      }
      try await Task.sleep(for: PageFeed.pace)
    }
    try await writer.end()
  }

  private func sendStream() async throws {
    guard let key = PageTarget.parameter("key", in: target) else {
      throw HTTPError(400, "The request names no stream.")
    }
    let variants = try await PageStream(cache: service.cache)
      .variants(of: CacheKey(rawValue: key))
    try await sendJSON { json in
      json.name("variants")
      json.array { json in
        for variant in variants ?? [] { variant.write(to: &json) }
      }
    }
  }

  /// Sends the proxy's URL of a URL: a path on this listener, or the whole on another one.
  private func sendAddress() async throws {
    guard let text = PageTarget.parameter("url", in: target), let url = URL(text: text) else {
      return try await refuse(HTTPError(400, "This is not a URL. Enter an http or https URL."))
    }
    let proxied: URL
    do {
      proxied = try service.routes.proxied(
        url, listening: service.knownAddress, reachedAs: host)
    } catch {
      return try await refuse(HTTPError(400, "\(error)"))
    }
    let whole = proxied.absoluteString
    let path = String(whole.dropFirst("http://".count).drop { $0 != "/" })
    let address = isOnOtherListener ? whole : path
    try await sendJSON { $0.member("address", address) }
  }

  // MARK: Changes

  private func act() async throws {
    var body: [UInt8] = []
    while let part = try await writer.nextBodyPart() {
      body += part.readableBytesView
      guard body.count <= PageGuard.longestBody else {
        throw HTTPError(413, "The body of a change has at most \(PageGuard.longestBody) bytes.")
      }
    }
    let action: PageAction
    do {
      action = try JSONDecoder().decode(PageAction.self, from: Data(body))
    } catch {
      return try await refuse(HTTPError(400, "The body is not a change that this page knows."))
    }
    do {
      let message = try await PageActions(service: service, page: page).perform(action)
      try await sendJSON { $0.member("message", message) }
    } catch let error as HTTPError {
      try await refuse(error)
    } catch let error as MediaCacheError {
      try await refuse(
        HTTPError(error.code == .inUse ? 409 : error.code == .badURL ? 400 : 500, "\(error)"))
    }
  }
}

extension ResponseWriter {
  /// Whether the client has closed its side. A browser that does so reads no more events.
  fileprivate var hasClientLeft: Bool {
    get async {
      // A closed event loop has no clients.
      (try? await eventLoop.submit {
        !connection.value.isAnswering(number) || connection.value.isInputClosed
          || connection.value.isClosing
      }.get()) ?? true
    }
  }
}
