// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// The files of the page, which are embedded in the program.
enum PageFile: String, Sendable, CaseIterable {
  case document = "/"
  case style = "/page/page.css"
  case script = "/page/page.js"
  case icon = "/page/icon.svg"

  var bytes: [UInt8] {
    switch self {
    case .document: PackageResources.page_html
    case .style: PackageResources.page_css
    case .script: PackageResources.page_js
    case .icon: PackageResources.icon_svg
    }
  }

  var type: String {
    switch self {
    case .document: "text/html; charset=utf-8"
    case .style: "text/css; charset=utf-8"
    case .script: "text/javascript; charset=utf-8"
    case .icon: "image/svg+xml"
    }
  }
}

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

  /// The time between two events.
  private static let pace: Duration = .milliseconds(250)
  private static let actionPath = "/page/action"
  private static let heartbeat: Duration = .seconds(15)

  /// Whether a target is the page's: `/`, or below `/page/`; behind the token, or on a listener of
  /// its own.
  static func isTarget(_ target: some StringProtocol) -> Bool {
    let path = target.prefix { $0 != "?" }
    return path.isEmpty || path == "/" || path.hasPrefix("/page/")
  }

  /// Responds; also to a request that is refused, with JSON that the page shows.
  func run() async throws {
    do {
      try await answer()
    } catch let error as HTTPError {
      try await refuse(error)
    } catch let error as MediaCacheError {
      try await refuse(Responder.httpError(for: error))
    }
  }

  private func answer() async throws {
    let path = String(target.prefix { $0 != "?" })
    let kind: PageGuard.Kind =
      switch path {
      case "", PageFile.document.rawValue: .document
      case Self.actionPath: .change
      default: .resource
      }
    try PageGuard.check(request.head.method, request.head.fields, for: kind)
    switch path {
    case "":
      // The page's references are relative to a directory.
      var answer = answer([], status: 308)
      answer.fields.append("Location", (service.routes.token.map { "/\($0)" } ?? "") + "/")
      try await send(answer)
    case "/page/state":
      // Many rows take a while.
      let json = try await withTaskExecutorPreference(IOThreads.background) {
        let feed = try await PageFeed(service, page)
        return try JSONEncoder().encode(News(state: feed.figures, rows: Array(feed.rows.values)))
      }
      try await send(answer(Array(json)))
    case "/page/events":
      try await withTaskExecutorPreference(IOThreads.background, operation: follow)
    case "/page/address": try await send(["address": address()])
    case Self.actionPath: try await send(["message": page.perform(action(), service)])
    default:
      guard let file = PageFile(rawValue: path) else {
        throw HTTPError(404, "The page has nothing at this URL.")
      }
      try await send(answer(file.bytes, type: file.type))
    }
  }

  private var isHEAD: Bool { request.head.isHEAD }

  /// The host by which the client has reached this machine.
  private var host: String? { request.head.fields["Host"] }

  // MARK: Sending

  private func answer(
    _ bytes: [UInt8], type: String = "application/json", status: Int = 200
  ) -> OwnAnswer {
    var answer = OwnAnswer(status: status, type: type, bytes)
    let media =
      isOnOtherListener
      ? service.routes.base(listening: service.knownAddress, reachedAs: host) : nil
    PageGuard.protect(&answer.fields, media: media.map { String($0.dropLast()) })
    return answer
  }

  private func send(_ answer: OwnAnswer) async throws {
    report.note { $0.status = answer.status }
    try await writer.send(answer, to: request.head)
  }

  private func send(_ json: [String: String]) async throws {
    try await send(answer(Array(JSONEncoder().encode(json))))
  }

  /// Responds with an error, unless a response has begun.
  private func refuse(_ error: HTTPError) async throws {
    guard await !writer.hasBegun else { throw error }
    report.note { $0.error = error.reason }
    var answer = try answer(
      Array(JSONEncoder().encode(["error": error.reason])), status: error.status)
    // RFC 9110 §15.5.6.
    if error.status == 405 {
      answer.fields.append("Allow", target.hasPrefix(Self.actionPath) ? "POST" : "GET, HEAD")
    }
    try await send(answer)
  }

  // MARK: What it shows

  /// Everything that the page shows, or what has changed of it.
  private struct News: Encodable {
    var state: PageFeed.Figures
    var rows: [PageRow]
    var removed: [CacheKey] = []
  }

  /// Sends everything, and then what changes, until the client leaves or the proxy stops.
  ///
  /// Each event waits until the socket has accepted the one before. The changes since then become
  /// one event: a client that does not read costs no memory.
  private func follow() async throws {
    let touched = TouchedEntries()
    let events = service.cache.laterEvents()
    var feed = try await PageFeed(service, page)
    report.note { $0.status = 200 }
    try await writer.begin(
      ResponseHead(
        status: 200, fields: answer([], type: "text/event-stream").fields,
        body: isHEAD ? .omitted(nil) : .open, isMeasured: false))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await touched.follow(events) }
      defer { group.cancelAll() }
      var shown: (figures: PageFeed.Figures?, rows: [CacheKey: PageRow]) = (nil, [:])
      var lastWrite = ContinuousClock.now
      while !isHEAD, !service.isStopping, await !writer.hasClientLeft {
        let rows = feed.rows.values.filter { shown.rows[$0.key] != $0 }
        let removed = shown.rows.keys.filter { feed.rows[$0] == nil }
        if !rows.isEmpty || !removed.isEmpty || feed.figures != shown.figures {
          shown = (feed.figures, feed.rows)
          let json = try JSONEncoder().encode(
            News(state: feed.figures, rows: rows, removed: removed))
          try await writer.write(ByteBuffer(bytes: Array("data: ".utf8) + json + [10, 10]))
          lastWrite = .now
        } else if ContinuousClock.now - lastWrite > Self.heartbeat {
          try await writer.write(ByteBuffer(string: ":\n\n"))
          lastWrite = .now
        }
        try await Task.sleep(for: Self.pace)
        await feed.update(touched.take())
      }
    }
    try await writer.end()
  }

  /// Returns the proxy's URL of a URL: a path on this listener, or the whole on another one.
  private func address() throws -> String {
    let query = URLComponents(string: target)?.queryItems ?? []
    guard let text = query.first(where: { $0.name == "url" })?.value, let url = URL(text: text)
    else { throw Page.noURL }
    let proxied = try service.routes.proxied(
      url, listening: service.knownAddress, reachedAs: host
    ).absoluteString
    return isOnOtherListener
      ? proxied : String(proxied.dropFirst("http://".count).drop { $0 != "/" })
  }

  private func action() async throws -> PageAction {
    let body = try await writer.body(limit: PageGuard.longestBody)
    guard let action = try? JSONDecoder().decode(PageAction.self, from: Data(body)) else {
      throw HTTPError(400, "The body is not a change that this page knows.")
    }
    return action
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
