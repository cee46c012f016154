// SPDX-License-Identifier: MIT
public import Foundation

/// What the user names: a URL, the headers that its requests carry, and under which key it is kept.
public struct Resource: Sendable, Hashable {
  /// A user and password in it (`https://me:secret@host/…`) are sent as a header, Authorization, to
  /// that origin alone, where `headers` has none. They are never stored.
  public var url: URL
  /// Sent with every request to the URL's own origin; not sent on to another origin by a redirect
  /// where they are credentials.
  public var headers: HTTPFields
  /// Under which identity the bytes are stored. Nil: `Configuration.cacheKey` says, from the URL.
  public var key: CacheKey?
  /// Which URLs may be asked for on its behalf, redirects included; nil: all.
  package var filter: URLFilter?

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

  /// The URL in the one spelling of all that are equivalent (RFC 3986 §6.2.2): scheme and host in
  /// lower case, without the default port, without `.` and `..` in its path, and with nothing encoded
  /// that need not be. Requests keep the spelling that they were given.
  ///
  /// Without its fragment, which never reaches an origin (RFC 9110 §4.2.5), and without a user and
  /// password: a key is written down and shown.
  public init(url: URL) {
    var reference = URIReference(url.absoluteString)
    _ = reference.removeUserInfo()
    rawValue = reference.normalized.textWithoutFragment
  }

  public var description: String { rawValue }
}
