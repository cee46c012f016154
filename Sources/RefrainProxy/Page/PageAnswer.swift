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
    case file(PageFile), state, events, address, action
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
    case .address: try await sendAddress()
    case .action: try await act()
    }
  }

  private static func place(_ path: String) -> Place? {
    switch path {
    case "/page/state": .state
    case "/page/events": .events
    case "/page/address": .address
    case "/page/action": .action
    default: PageFile(rawValue: path).map { .file($0) }
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

  private func begin(
    _ status: Int, _ fields: HeaderFields, _ body: ResponseHead.Body
  ) async throws {
    report.note { $0.status = status }
    try await writer.begin(
      ResponseHead(status: status, fields: fields, body: body, isMeasured: false))
  }

  private func send(
    _ bytes: [UInt8], type: String = "application/json", status: Int = 200, allow: String? = nil
  ) async throws {
    var fields = fields
    fields.append("Content-Type", type)
    if let allow { fields.append("Allow", allow) }
    let length = Int64(bytes.count)
    try await begin(status, fields, isHEAD ? .omitted(length) : .length(length))
    if !isHEAD { try await writer.write(ByteBuffer(bytes: bytes)) }
    try await writer.end()
  }

  /// Responds with the error and the fields of the page.
  private func refuse(_ error: HTTPError, allow: String? = nil) async throws {
    report.note { $0.error = error.reason }
    let json = try JSONEncoder().encode(["error": error.reason])
    try await send(Array(json), status: error.status, allow: allow)
  }

  /// The page's references are relative to a directory.
  private func redirectToDirectory() async throws {
    var fields = fields
    fields.append("Location", (service.routes.token.map { "/\($0)" } ?? "") + "/")
    try await begin(308, fields, .length(0))
    try await writer.end()
  }

  // MARK: The state

  /// Everything that the page shows, or what has changed of it.
  private struct State: Encodable {
    var state: PageFeed.Figures
    var rows: [PageRow]
    var removed: [CacheKey] = []
  }

  private func sendState() async throws {
    let json = try await page.visit { feed in
      // Many rows take a while.
      try await withTaskExecutorPreference(IOThreads.background) {
        try JSONEncoder().encode(State(state: feed.figures, rows: feed.rows))
      }
    }
    try await send(Array(json))
  }

  /// Sends what changes, until the client leaves or the proxy stops.
  ///
  /// Each event waits until the socket has accepted the one before. The changes since then become
  /// one event: a client that does not read costs no memory.
  private func sendEvents() async throws {
    try await page.visit { feed in
      let follower = feed.follow()
      defer { feed.leave(follower) }
      var fields = fields
      fields.append("Content-Type", "text/event-stream")
      try await begin(200, fields, isHEAD ? .omitted(nil) : .open)
      var shown: PageFeed.Figures?
      var lastWrite = ContinuousClock.now
      while !isHEAD, !service.isStopping {
        guard await !writer.hasClientLeft else { break }
        let (rows, removed) = feed.news(for: follower)
        let figures = feed.figures
        if !rows.isEmpty || !removed.isEmpty || figures != shown {
          shown = figures
          let json = try JSONEncoder().encode(
            State(state: figures, rows: rows, removed: removed))
          try await writer.write(ByteBuffer(bytes: Array("data: ".utf8) + json + [10, 10]))
          lastWrite = .now
        } else if ContinuousClock.now - lastWrite > Self.heartbeat {
          try await writer.write(ByteBuffer(string: ":\n\n"))
          lastWrite = .now
        }
        try await Task.sleep(for: PageFeed.pace)
      }
      try await writer.end()
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
    let json = try JSONEncoder().encode(["address": isOnOtherListener ? whole : path])
    try await send(Array(json))
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
    guard let action = try? JSONDecoder().decode(PageAction.self, from: Data(body)) else {
      return try await refuse(HTTPError(400, "The body is not a change that this page knows."))
    }
    do {
      let message = try await PageActions(service: service, page: page).perform(action)
      try await send(Array(JSONEncoder().encode(["message": message])))
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
