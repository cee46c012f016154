// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainServer

/// Runs a test with a proxy that has a page.
func withPage(
  proxy change: @Sendable (inout CacheProxy.Configuration, OriginServer) -> Void = { _, _ in },
  server changeServer: (inout ProxyServer.Configuration, OriginServer) -> Void = { _, _ in },
  _ body: (TestProxy, Page) async throws -> Void
) async throws {
  try await withServer(
    server: { configuration, origin in
      configuration.servesPage = true
      change(&configuration.proxy, origin)
      changeServer(&configuration, origin)
    }
  ) { test in
    let page = try #require(test.server?.page)
    try await body(test, page)
  }
}

extension TestProxy {
  /// Requests a place of the page, such as `/page/state`.
  func page(
    _ place: String, _ fields: [String] = [], method: String = "GET", host: String? = nil
  ) async throws -> Reply {
    try await connect {
      try await $0.reply(
        to: "/\(self.token)\(place)", fields, method: method, host: host ?? self.host)
    }
  }

  /// The fields that the page's own script and its browser send with a change.
  var changeFields: [String] {
    [
      "Origin: http://\(host)", "Sec-Fetch-Site: same-origin", "X-Refrain-Page: 1",
      "Content-Type: application/json",
    ]
  }

  /// Asks for a change as the page does.
  @discardableResult
  func change(_ json: String, fields: [String]? = nil, host: String? = nil) async throws -> Reply {
    let fields = (fields ?? changeFields) + ["Content-Length: \(json.utf8.count)"]
    return try await connect { connection in
      try await connection.request(
        "/\(self.token)/page/action", fields, method: "POST", host: host ?? self.host)
      try await connection.send(json)
      return try await connection.readReply()
    }
  }

  /// Returns the rows of the page by the last part of their URLs.
  func rows() async throws -> [String: [String: Any]] {
    try await page("/page/state").rows
  }
}

extension Reply {
  /// The rows in a response of `/page/state`, by the last part of their URLs.
  var rows: [String: [String: Any]] {
    var rows: [String: [String: Any]] = [:]
    for row in json["rows"] as? [[String: Any]] ?? [] {
      let url = row["url"] as? String ?? ""
      rows[url.split(separator: "/").last.map(String.init) ?? url] = row
    }
    return rows
  }

  /// The state in a response of `/page/state`.
  var state: [String: Any] { json["state"] as? [String: Any] ?? [:] }

  /// The member `error` of a refusal.
  var refusal: String? { json["error"] as? String }

  var json: [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]
  }
}

extension RawConnection {
  /// Reads events until one satisfies a condition, and returns it.
  func nextEvent(where isWanted: ([String: Any]) -> Bool) async throws -> [String: Any] {
    while true {
      guard let line = try await readText(before: "\n\n") else { throw EventsEnded() }
      // Between the chunks of the body are their lengths.
      guard let start = line.range(of: "data: ") else { continue }
      let json = Data(line[start.upperBound...].utf8)
      let event = try JSONSerialization.jsonObject(with: json) as? [String: Any] ?? [:]
      if isWanted(event) { return event }
    }
  }

  private struct EventsEnded: Error {}
}
