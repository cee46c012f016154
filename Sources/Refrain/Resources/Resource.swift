// SPDX-License-Identifier: MIT
public import Foundation

/// A remote resource: a URL, the headers of its requests, and the key under which it is stored.
public struct Resource: Sendable, Hashable {
  /// The URL. A user and password in it (`https://me:secret@host/…`) are sent as an Authorization
  /// header, to that origin alone, if `headers` has none. They are never stored.
  public var url: URL
  /// Headers sent with every request to the URL's own origin. Another origin, to which it redirects
  /// or which a document names, receives only harmless ones: `User-Agent`, `Referer`,
  /// `Origin`, `Accept` and `Accept-Language`. Without them, `Accept` is `*/*`, and `User-Agent` is
  /// `Refrain`.
  /// Cookies that redirects set are sent beside those of a `Cookie` header, and in place of older
  /// ones of the same names.
  public var headers: HeaderFields
  /// The key under which the bytes are stored, in every partition. Nil:
  /// `MediaCache.Configuration.cacheKey` derives it from the URL.
  public var key: CacheKey?
  /// The URLs that may be requested for the resource, redirects included; nil: all.
  package var filter: URLFilter?
  /// Receives the heads of the origin's responses; nil: none.
  package var observer: ResponseObserver?
  /// What the resource is beyond its bytes. What it does not set is that of
  /// `MediaCache.Configuration.policy`.
  public var policy = ResourcePolicy()

  public init(url: URL, headers: HeaderFields = [:], key: CacheKey? = nil) {
    self.url = url
    self.headers = headers
    self.key = key
  }

  /// Whether a request for this resource is the same as one for another: credentials and cookies are
  /// among its headers.
  func isAsked(as other: Resource) -> Bool {
    headers == other.headers && url.absoluteString == other.url.absoluteString
  }
}

/// The identity of a whole resource, never of a range of it. Two URLs with one key share one entry.
public struct CacheKey: Sendable, Hashable, Codable, RawRepresentable, CustomStringConvertible {
  public var rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// Creates a key from the normalized URL (RFC 3986 §6.2.2): scheme and host in lower case,
  /// without the default port, without `.` and `..` in its path, and with nothing percent-encoded
  /// that need not be. Requests keep the original spelling.
  ///
  /// The key has no fragment, which never reaches an origin (RFC 9110 §4.2.5), and no user and
  /// password, since a key is stored and shown.
  ///
  /// `CacheKeyRule` creates keys that ignore some parameters of the query.
  public init(url: URL) {
    rawValue = Self.reference(of: url).textWithoutFragment
  }

  /// Returns the normalized URL without user and password.
  static func reference(of url: URL) -> URIReference {
    URIReference(url.absoluteString).normalized
  }

  /// Returns the key of the same resource in a partition of the cache. No URL has a space.
  func `in`(partition: String) -> CacheKey {
    let name = partition.addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed) ?? partition
    return CacheKey(rawValue: "\(rawValue) in:\(name)")
  }

  public var description: String { rawValue }
}

/// The name of a key's directory: 128 bits of FNV-1a in hexadecimal. The hash need not resist
/// deliberate collisions: the record holds the whole key, so an entry is never taken for that of
/// another key, and two colliding keys only displace each other.
enum KeyHash {
  /// Returns the name for a key. The second half of the name for another representation of a
  /// resource is that of the resource's own name: one look at a shard finds all representations.
  static func name(of key: CacheKey) -> String {
    let own = hash(of: key.rawValue)
    return Selection.resourceKey(of: key).map { own.prefix(16) + family(of: $0) } ?? own
  }

  /// Returns the end that the names for all representations of a resource have.
  ///
  /// - Parameter key: of the resource, or of one of its representations.
  static func family(of key: CacheKey) -> String {
    String(hash(of: (Selection.resourceKey(of: key) ?? key).rawValue).suffix(16))
  }

  static func hash(of text: String) -> String {
    let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013B
    var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
    for byte in text.utf8 {
      hash ^= UInt128(byte)
      hash = hash &* prime
    }
    let text = String(hash, radix: 16)
    return String(repeating: "0", count: 32 - text.count) + text
  }

  /// Returns the name of an entry's shard, one of 256 directories between the cache's and the
  /// entries'.
  static func shard(of name: String) -> String { String(name.suffix(2)) }
}
