// SPDX-License-Identifier: MIT
package import Foundation

/// What AsyncHTTPClient sends as the target of a request for a URL.
///
/// It takes the path apart and puts it together again, and sends "/" for a path that is not UTF-8 once
/// it is decoded ("%E9"): another resource, which a DELETE would remove. A request is refused unless
/// what is sent is what the URL says.
package enum SentTarget {
  package static func isAsSpelled(_ url: URL) -> Bool {
    sent(url).utf8.elementsEqual(spelled(url.absoluteString).utf8)
  }

  private static func sent(_ url: URL) -> String {
    let path =
      url.path.isEmpty
      ? "/"
      : URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedPath ?? url.path
    return path + (url.query.map { "?\($0)" } ?? "")
  }

  /// Path and query of an absolute URL; the path is never empty (RFC 9112 §3.2.1).
  private static func spelled(_ text: String) -> String {
    let plain = text.prefix { $0 != "#" }
    guard let slashes = plain.firstRange(of: "://") else { return "" }
    let target = plain[slashes.upperBound...].drop { $0 != "/" && $0 != "?" }
    return target.hasPrefix("/") ? String(target) : "/\(target)"
  }
}
