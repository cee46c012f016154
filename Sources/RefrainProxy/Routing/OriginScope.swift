// SPDX-License-Identifier: MIT
internal import Foundation
internal import Refrain

/// The URLs that belong to the origin of a reverse proxy: those of its scheme, host and port, below
/// its path.
struct OriginScope: Sendable {
  private let origin: WebOrigin
  /// Without a trailing slash.
  private let path: String

  /// - Parameter url: `https://media.example.com[/prefix]`. Returns nil if it is not an http or
  ///   https URL.
  init?(_ url: URL) {
    guard let (origin, path) = Self.split(url) else { return nil }
    self.origin = origin
    var prefix = path
    while prefix.hasSuffix("/") { prefix.removeLast() }
    self.path = String(prefix)
  }

  /// Whether a URL is the origin's. A URL whose path could be resolved to another is not.
  func contains(_ url: URL) -> Bool {
    guard let (origin, path) = Self.split(url), origin == self.origin, path.hasPrefix(self.path),
      !URLSpelling.hasDotSegment(path: path)
    else { return false }
    let rest = path.dropFirst(self.path.count)
    return rest.isEmpty || rest.hasPrefix("/")
  }

  private static func split(_ url: URL) -> (WebOrigin, path: Substring)? {
    guard let parts = WebURL(url.absoluteString), let origin = WebOrigin(parts) else { return nil }
    return (origin, parts.requestTarget.prefix { $0 != "?" })
  }
}
