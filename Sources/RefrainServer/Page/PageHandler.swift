// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainProxy

/// Responds to requests for the page: `/`, and below `/page/`. The proxy has checked the token or
/// the listener, and that Host names this proxy.
struct PageHandler: ProxyHandler {
  let proxy: ProxyService
  let page: Page
  /// On the operator's listener, media are played from the proxy's own.
  let place: OperatorPlace

  private static let pace: Duration = .milliseconds(250)
  private static let actionPath = "/page/action"
  private static let heartbeat: Duration = .seconds(15)

  /// Responds to refused requests with JSON, which the page shows.
  func response(to request: ProxyRequest) async throws -> ProxyResponse? {
    let path = request.path
    guard path.isEmpty || path == "/" || path.hasPrefix("/page/") else { return nil }
    // For the operator: it removes the origin's resource of that path.
    if place == .ownListener, request.method == "PURGE" { return nil }
    do {
      return try await response(to: request, at: path)
    } catch let error as HTTPError {
      return try refusal(error, of: request)
    } catch let error as MediaCacheError {
      return try refusal(HTTPError(error), of: request)
    }
  }

  private func response(to request: ProxyRequest, at path: String) async throws -> ProxyResponse {
    let kind: PageGuard.Kind =
      switch path {
      case "", PageFile.document.rawValue: .document
      case Self.actionPath: .change
      default: .resource
      }
    try PageGuard.check(request.method, request.fields, for: kind)
    switch path {
    case "":
      // The page's references are relative to a directory.
      var answer = answer([], to: request, status: 308)
      answer.fields.append("Location", proxy.routes.pathPrefix + "/")
      return answer.unlogged
    case "/page/state":
      // Many rows take a while.
      let json = try await withTaskExecutorPreference(IOThreads.background) {
        let feed = try await PageFeed(page)
        return try JSONEncoder().encode(News(state: feed.figures, rows: Array(feed.rows.values)))
      }
      return answer(json, to: request).unlogged
    case "/page/events": return try await events(to: request)
    case "/page/address": return try message(["address": address(request)], to: request)
    case Self.actionPath:
      let done = try await page.perform(action(request))
      return try message(["message": done], to: request)
    default:
      guard let file = PageFile(rawValue: path) else {
        throw HTTPError(404, "The page has nothing at this URL.")
      }
      return answer(file.bytes, type: file.type, to: request).unlogged
    }
  }

  // MARK: Responses

  private func answer(
    _ bytes: some Sequence<UInt8>, type: String = "application/json", to request: ProxyRequest,
    status: Int = 200
  ) -> ProxyResponse {
    var answer = ProxyResponse(status: status, type: type, bytes)
    let media = place == .ownListener ? proxy.routes.base(reachedAs: request.fields["Host"]) : nil
    PageGuard.protect(&answer.fields, media: media.map { String($0.dropLast()) })
    return answer
  }

  private func message(
    _ json: [String: String], to request: ProxyRequest
  ) throws -> ProxyResponse {
    try answer(JSONEncoder().encode(json), to: request).unlogged
  }

  /// Refusals are logged, unlike what the page does.
  private func refusal(_ error: HTTPError, of request: ProxyRequest) throws -> ProxyResponse {
    let json = try JSONEncoder().encode(["error": error.reason])
    var answer = answer(json, to: request, status: error.status)
    answer.fields["Allow"] = error.allow
    var response = answer.unlogged
    (response.isLogged, response.error) = (true, error.reason)
    return response
  }

  // MARK: What it shows

  private struct News: Encodable {
    var state: PageFeed.Totals
    var rows: [PageRow]
    var removed: [CacheKey] = []
  }

  /// Sends everything, and then what changes, until the client leaves or the proxy stops.
  private func events(to request: ProxyRequest) async throws -> ProxyResponse {
    let events = proxy.cache.events(includingTraffic: false)
    let feed = try await withTaskExecutorPreference(IOThreads.background) {
      try await PageFeed(page)
    }
    let fields = answer([], type: "text/event-stream", to: request).fields
    return ProxyResponse(fields: fields) { writer in
      try await withTaskExecutorPreference(IOThreads.background) {
        try await follow(feed, events, writer)
      }
    }.unlogged
  }

  /// Changes while the socket accepts an event become one event: a slow client costs no memory.
  private func follow(
    _ feed: PageFeed, _ events: AsyncStream<CacheEvent>, _ writer: ProxyBodyWriter
  ) async throws {
    let touched = TouchedEntries()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await touched.follow(events) }
      defer { group.cancelAll() }
      var feed = feed
      var shown: (figures: PageFeed.Totals?, rows: [CacheKey: PageRow]) = (nil, [:])
      var lastWrite = ContinuousClock.now
      while await writer.isWanted {
        let rows = feed.rows.values.filter { shown.rows[$0.key] != $0 }
        let removed = shown.rows.keys.filter { feed.rows[$0] == nil }
        if !rows.isEmpty || !removed.isEmpty || feed.figures != shown.figures {
          shown = (feed.figures, feed.rows)
          let json = try JSONEncoder().encode(
            News(state: feed.figures, rows: rows, removed: removed))
          try await writer.write(Data("data: ".utf8) + json + Data([10, 10]))
          lastWrite = .now
        } else if ContinuousClock.now - lastWrite > Self.heartbeat {
          try await writer.write(Data(":\n\n".utf8))
          lastWrite = .now
        }
        try await Task.sleep(for: Self.pace)
        await feed.update(touched.take())
      }
    }
  }

  /// A whole URL at the operator's listener, a path at the proxy's own.
  private func address(_ request: ProxyRequest) throws -> String {
    let query = URLComponents(string: request.target)?.queryItems ?? []
    guard let text = query.first(where: { $0.name == "url" })?.value, let url = URL(text: text)
    else { throw Page.noURL }
    let proxied = try proxy.routes.proxied(url, reachedAs: request.fields["Host"])
      .absoluteString
    switch place {
    case .ownListener: return proxied
    case .behindToken: return String(proxied.dropFirst("http://".count).drop { $0 != "/" })
    }
  }

  private func action(_ request: ProxyRequest) async throws -> PageAction {
    let body = try await request.body(limit: PageGuard.longestBody)
    guard let action = try? JSONDecoder().decode(PageAction.self, from: body) else {
      throw HTTPError(400, "The body is not a change that this page knows.")
    }
    return action
  }
}

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
