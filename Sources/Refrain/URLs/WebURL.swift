// SPDX-License-Identifier: MIT
import Foundation

/// The parts of an http or https URL, as they are spelled.
package struct WebURL {
  /// `http` or `https`.
  package var scheme: String
  /// Without user information.
  package var authority: String
  /// Path and query, without the fragment; may be empty, or begin with `?`.
  package var target: String

  package init?(_ text: String) {
    var reference = URIReference(text)
    guard let scheme = reference.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      return nil
    }
    _ = reference.removeUserInfo()
    guard let authority = reference.authority else { return nil }
    self.scheme = scheme
    self.authority = authority
    target = reference.path + (reference.query.map { "?" + $0 } ?? "")
  }

  /// Path and query as a request sends them: the path is never empty (RFC 9112 §3.2.1).
  package var requestTarget: String { target.hasPrefix("/") ? target : "/" + target }
}

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
