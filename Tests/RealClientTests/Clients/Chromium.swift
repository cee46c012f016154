// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport

/// Chromium without a window, with a new profile whose caches are empty.
enum Chromium {
  /// Plays the media on a page of the origin, and returns the page's report.
  static func play(_ media: [Page.Medium], from origin: OriginServer) async throws -> [Page.Played]
  {
    origin.serve(OriginResource(.bytes(Page.html.utf8), contentType: "text/html"), at: Page.path)
    let page = try Page.url(on: origin.baseURL, playing: media)
    return try Page.played(fromReport: try await report(of: page, from: origin))
  }

  /// Opens a page of the server, and returns the target of the request by which it reports.
  ///
  /// Waits for that report: Chromium itself would run for ever.
  ///
  /// - Parameter path: the path of that request, another one for each page at the same time.
  static func report(
    of page: URL, from server: OriginServer, at path: String = Page.report,
    within limit: Duration = .seconds(90)
  ) async throws -> String {
    server.serve(OriginResource(.bytes("".utf8)), at: path)
    server.resetLog(path)
    return try await withDirectory { directory in
      let target = try await withThrowingTaskGroup(of: String?.self) { group in
        group.addTask {
          try await run(
            .chromium, arguments(page, profile: directory), in: directory, limit: limit)
          return nil
        }
        group.addTask {
          try await server.wait(for: path) { !$0.requests.isEmpty }
            .requests.first?.request.target
        }
        defer { group.cancelAll() }
        return try await group.next() ?? nil
      }
      guard let target else { throw ClientFailure(description: "Chromium ended by itself.") }
      return target
    }
  }

  /// Runs without the sandbox, which is refused to root, and without features that need a desktop
  /// or a network.
  private static func arguments(_ page: URL, profile: URL) -> [String] {
    [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
      "--autoplay-policy=no-user-gesture-required", "--no-first-run", "--mute-audio",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
      "--no-proxy-server", "--user-data-dir=\(profile.path(percentEncoded: false))",
      page.absoluteString,
    ]
  }
}
