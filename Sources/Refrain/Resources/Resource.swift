// SPDX-License-Identifier: MIT
public import Foundation
import RefrainLocks

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

  /// Whether both are requested alike, with the same credentials and cookies among the headers.
  func isAsked(as other: Resource) -> Bool {
    headers == other.headers && url.absoluteString == other.url.absoluteString
  }
}

/// What a resource is to its user, beyond its bytes. A cache treats a resource without one as plain
/// media.
///
/// The parts that a resource does not set are those of `MediaCache.Configuration.policy`.
public struct ResourcePolicy: Sendable {
  /// The group to which the resource belongs; nil: none is known.
  public var group: Group?
  /// How long the entry stays after its last use, as with segments that a live stream lists for
  /// minutes; nil: for as long as there is room. Once the time is over, and the entry is neither
  /// open nor pinned, it is removed before anything else is evicted. The newest reader's time
  /// counts. It is recorded in whole seconds, beside the entry.
  public var keep: Duration?
  /// The rules by which small documents are recognized; nil: no resource is one.
  public var documents: (any DocumentRules)?

  public init(
    group: Group? = nil, keep: Duration? = nil, documents: (any DocumentRules)? = nil
  ) {
    (self.group, self.keep, self.documents) = (group, keep, documents)
  }

  /// Entries that are listed, pinned and removed together, such as all files of one film. The group
  /// is recorded with the entry.
  public struct Group: Sendable, Hashable {
    /// The key of the group's first resource, under which the whole group is listed and removed.
    public var first: CacheKey
    /// Whether the resource is a secret that opens others of the group: a shared cache does not
    /// store it. As with every entry, only the cache's owner can read its files (mode 0600, in
    /// directories of mode 0700).
    public var isSecret: Bool
    /// Whether the user asked to keep the resource, so that it is stored even if the origin forbids
    /// it (`no-store`). It stays if it is pinned before it is closed.
    public var isKept: Bool

    public init(first: CacheKey, isSecret: Bool = false, isKept: Bool = false) {
      (self.first, self.isSecret, self.isKept) = (first, isSecret, isKept)
    }
  }

  func completed(by defaults: ResourcePolicy) -> ResourcePolicy {
    ResourcePolicy(
      group: group ?? defaults.group, keep: keep ?? defaults.keep,
      documents: documents ?? defaults.documents)
  }
}

/// Rules are equal only if identical.
extension ResourcePolicy: Hashable {
  public static func == (left: ResourcePolicy, right: ResourcePolicy) -> Bool {
    left.group == right.group && left.keep == right.keep && left.documents === right.documents
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(group)
    hasher.combine(keep)
    hasher.combine(documents.map { ObjectIdentifier($0) })
  }
}

/// How far fetching goes beyond the bytes that readers ask for.
public enum FillPolicy: String, Sendable, Hashable, Codable {
  /// Nothing beyond the read-ahead window of a live reader.
  case onDemand
  /// While a reader has the resource open, its holes are filled to the end, behind the readers'
  /// needs.
  case wholeResource
}

/// Rules for small documents that may change as they go on, such as lists of what comes next. Called
/// from any thread.
///
/// A cache asks them about a URL once for each request, about a head once for each response, and
/// about a body once, if all of it is at most `longest` bytes long: never about a chunk of anything
/// longer.
public protocol DocumentRules: AnyObject, Sendable {
  /// The longest document, in bytes.
  var longest: Int64 { get }

  /// Whether a resource is named a document. It is then requested without a range, is no media that
  /// is read in pieces, and may be decoded.
  ///
  /// - Parameters:
  ///   - mimeType: in lower case, without parameters; nil before the response, and if it has none.
  ///   - url: of the request before the response, then of the response, after redirects.
  func isDocument(mimeType: String?, url: URL) -> Bool

  /// Whether a resource that is not named a document may be one by its content: its type does not
  /// state another one.
  ///
  /// - Parameter mimeType: in lower case, without parameters; nil if the response has none.
  func mayBeUnnamed(mimeType: String?) -> Bool

  /// Whether the origin holds its response to a URL back until the resource exists. The cache then
  /// waits longer for it, and the time until then does not count as the response's age.
  func isHeldBack(_ url: URL) -> Bool

  /// Returns how soon the origin changes a document, by its whole body; nil if it is none.
  ///
  /// - Parameters:
  ///   - url: of the request.
  ///   - beginning: at most the first 64 bytes.
  ///   - whole: returns the whole body; nil if it cannot be read.
  func pace(at url: URL, beginning: Data, whole: () -> Data?) -> UpdatePace?

  /// The extensions of the data files of documents, by MIME type, where the URL has no media
  /// extension: one to eight of `a`…`z`, `0`…`9`.
  var fileExtensions: [String: String] { get }

  /// Returns a decoder of a content coding (RFC 9110 §8.4.1), for documents that come encoded
  /// although every request asks for identity; nil if such documents cannot be decoded.
  func decoder(of coding: String) -> DocumentDecoder?
}

/// The most first bytes of a body that its rules receive at once.
let documentBeginning = 64

/// Returns the decoded body, of at most `limit` bytes.
public typealias DocumentDecoder =
  @Sendable (_ body: Data, _ limit: Int) throws(DocumentFault) -> Data

/// Why a body cannot be decoded.
public enum DocumentFault: Error, Sendable, Hashable {
  /// It ends before its last block.
  case truncated
  /// It is not in this coding, or its checksum differs.
  case invalid
  /// The decoded body is longer than allowed.
  case tooLong
}

/// Decides which URLs may be requested. Filters are equal only if identical. May be used from any
/// thread.
package final class URLFilter: Sendable, Hashable {
  private static let mostHosts = 65_536

  package let allows: @Sendable (URL) -> Bool
  private let remedy: String
  private let checksAddresses: Bool
  /// The hosts to which public documents and redirects of other hosts have referred. A public name
  /// may lead to a private address.
  private let referred = Mutex(Set<String>())

  /// - Parameter checksAddresses: whether hosts that others refer to must have public addresses.
  package init(
    remedy: String = "Allow the host to fetch from it.", checksAddresses: Bool = false,
    allows: @escaping @Sendable (URL) -> Bool
  ) {
    (self.remedy, self.checksAddresses, self.allows) = (remedy, checksAddresses, allows)
  }

  package func noteReference(to url: URL, from referrer: URL) {
    guard checksAddresses, let host = WebOrigin(url)?.host, host != WebOrigin(referrer)?.host
    else { return }
    referred.withLock { hosts in
      if hosts.count < Self.mostHosts { hosts.insert(host) }
    }
  }

  /// Whether the address to which the URL's host leads must be public: a public document or redirect
  /// of another host refers to it. A URL that a person chose may lead anywhere.
  package func requiresPublicAddress(of url: URL) -> Bool {
    guard checksAddresses else { return false }
    return referred.withLock { hosts in
      if hosts.isEmpty { return false }
      // Further hosts were not recorded.
      if hosts.count >= Self.mostHosts { return true }
      return WebOrigin(url).map { hosts.contains($0.host) } ?? true
    }
  }

  /// - Parameter status: of the redirect that leads there.
  func check(_ url: URL, status: Int? = nil) throws(MediaCacheError) {
    guard !allows(url) else { return }
    throw refusal("Requests to \(url.host() ?? "that host") are not allowed.", status: status)
  }

  func refusal(_ reason: String, status: Int? = nil) -> MediaCacheError {
    MediaCacheError(.redirect, reason, remedy: remedy, status: status)
  }

  package static func == (left: URLFilter, right: URLFilter) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Receives the head of each response of an origin, redirects included. Observers are equal if their
/// identities are. Resources with different observers are different, and the redirects of one are
/// not known for the other.
package struct ResponseObserver: Sendable, Hashable {
  private let identity: any Hashable & Sendable
  private let receive: @Sendable (URL, HeaderFields) -> Void

  /// - Parameter receive: on any thread, with the responding URL and its fields; must not block.
  package init(
    identity: any Hashable & Sendable, receive: @escaping @Sendable (URL, HeaderFields) -> Void
  ) {
    self.identity = identity
    self.receive = receive
  }

  package func received(_ headers: HeaderFields, from url: URL) { receive(url, headers) }

  package static func == (left: ResponseObserver, right: ResponseObserver) -> Bool {
    AnyHashable(left.identity) == AnyHashable(right.identity)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(identity)) }
}
