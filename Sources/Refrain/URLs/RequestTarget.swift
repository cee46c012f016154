// SPDX-License-Identifier: MIT
import Foundation

/// The target of a request to an origin (RFC 9112 §3.2.1): path and query of the URL as spelled. A
/// library that splits and rejoins a path may request another resource, which a DELETE would
/// remove.
enum RequestTarget {
  /// - Parameter isAbsolute: with scheme and host, as a proxy requires (§3.2.2).
  static func of(_ url: URL, isAbsolute: Bool = false) -> String {
    guard let parts = WebURL(url.absoluteString) else { return "/" }
    return (isAbsolute ? "\(parts.scheme)://\(parts.authority)" : "") + parts.requestTarget
  }
}
