// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport

/// Chromium without a window, with caches that are empty.
enum Chromium {
  /// Plays the media on a page of the origin, and returns the page's report.
  static func play(
    _ media: [Page.Medium], from origin: OriginServer, seeking seeks: [Double] = Page.seeks
  ) async throws -> [Page.Played] {
    origin.serve(OriginResource(.bytes(Page.html.utf8), contentType: "text/html"), at: Page.path)
    let page = try Page.url(on: origin.baseURL, playing: media, seeking: seeks)
    return try Page.played(fromReport: try await report(of: page, from: origin))
  }

  /// Opens a page of the server, and returns the target of the request by which it reports.
  ///
  /// - Parameter path: the path of that request, another one for each page at the same time.
  static func report(
    of page: URL, from server: OriginServer, at path: String = Page.report,
    within limit: Duration = .seconds(90)
  ) async throws -> String {
    server.serve(OriginResource(.bytes("".utf8)), at: path)
    server.resetLog(path)
    return try await DevTools.with(page) { _ in
      try await withThrowingTaskGroup(of: String?.self) { group in
        group.addTask {
          try await Task.sleep(for: limit)
          return nil
        }
        group.addTask {
          try await server.wait(for: path) { !$0.requests.isEmpty }
            .requests.first?.request.target
        }
        defer { group.cancelAll() }
        guard let target = try await group.next() ?? nil else {
          throw ClientFailure(description: "The page in Chromium did not report.")
        }
        return target
      }
    }
  }
}
