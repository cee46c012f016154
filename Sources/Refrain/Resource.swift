// SPDX-License-Identifier: MIT
public import Foundation

/// What the user names: a URL, the headers that its requests carry, and under which key it is kept.
public struct Resource: Sendable, Hashable {
  public var url: URL
  /// Sent with every request to the URL's own origin; not sent on to another origin by a redirect
  /// where they are credentials.
  public var headers: HTTPFields
  /// Under which identity the bytes are stored. Nil: `Configuration.cacheKey` says, from the URL.
  public var key: CacheKey?

  public init(url: URL, headers: HTTPFields = [:], key: CacheKey? = nil) {
    self.url = url
    self.headers = headers
    self.key = key
  }
}

/// The identity of a whole resource, never of a range of it. Two URLs with one key share one entry.
public struct CacheKey: Sendable, Hashable, Codable, RawRepresentable, CustomStringConvertible {
  public var rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// The URL without its fragment, which never reaches an origin (RFC 9110 §4.2.5).
  public init(url: URL) {
    let text = url.absoluteString
    rawValue = text.firstIndex(of: "#").map { String(text[..<$0]) } ?? text
  }

  public var description: String { rawValue }
}
