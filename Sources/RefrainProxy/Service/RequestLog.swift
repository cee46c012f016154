// SPDX-License-Identifier: MIT
import Refrain

/// Passes requests that have ended to the app's log.
struct RequestLog: Sendable {
  /// Nil: nothing is logged.
  private let write: (@Sendable (ServedRequest) -> Void)?
  /// Whether the log receives the version, `Referer` and `User-Agent`.
  private let hasClientFields: Bool
  /// Returns a text without the proxy's token.
  private let routes: Routes

  init(
    _ write: (@Sendable (ServedRequest) -> Void)?, hasClientFields: Bool, routes: Routes
  ) {
    (self.write, self.hasClientFields, self.routes) = (write, hasClientFields, routes)
  }

  /// Longer values are shortened: many requests may wait to be logged.
  private static let longestField = 1024

  /// - Parameters:
  ///   - head: nil for bytes that were not a request.
  ///   - request: called only if something is logged.
  func note(_ head: RequestHead?, _ request: () -> ServedRequest) {
    guard let write else { return }
    var request = request()
    if hasClientFields, let head {
      let fields = head.fields
      request.version = "HTTP/1.\(head.minorVersion)"
      request.referrer = fields["Referer"].map { Self.shortened(routes.shown($0)) }
      request.userAgent = fields["User-Agent"].map(Self.shortened)
    }
    write(request)
  }

  private static func shortened(_ text: String) -> String {
    text.utf8.count <= longestField
      ? text : String(decoding: text.utf8.prefix(longestField), as: UTF8.self) + "…"
  }
}
