// SPDX-License-Identifier: MIT
internal import Foundation
internal import Refrain

/// The URLs that belong to the origin of a reverse proxy: those of its scheme, host and port, below
/// its path.
struct OriginScope: Sendable {
  private let scheme: String
  private let host: String
  private let port: Int
  /// Without a trailing slash.
  private let path: String

  /// - Parameter origin: `https://media.example.com[/prefix]`. Returns nil if it is not an http or
  ///   https URL.
  init?(_ origin: URL) {
    guard let place = Place(origin) else { return nil }
    (scheme, host, port) = (place.scheme, place.host, place.port)
    var path = place.path
    while path.hasSuffix("/") { path.removeLast() }
    self.path = String(path)
  }

  /// Whether a URL is the origin's. A URL whose path could be resolved to another is not.
  func contains(_ url: URL) -> Bool {
    guard let place = Place(url), place.scheme == scheme, place.host == host, place.port == port,
      place.path.hasPrefix(path), !URLSpelling.hasDotSegment(path: place.path)
    else { return false }
    let rest = place.path.dropFirst(path.count)
    return rest.isEmpty || rest.hasPrefix("/")
  }

  private struct Place {
    var scheme: String
    var host: String
    var port: Int
    var path: Substring

    init?(_ url: URL) {
      guard let parts = WebURL(url.absoluteString), let authority = Authority(parts.authority)
      else { return nil }
      scheme = parts.scheme
      host = authority.plainHost
      port = authority.port ?? (parts.scheme == "https" ? 443 : 80)
      path = parts.requestTarget.prefix { $0 != "?" }
    }
  }
}
