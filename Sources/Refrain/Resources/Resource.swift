// SPDX-License-Identifier: MIT
public import Foundation
import RefrainLocks

/// A remote resource: a URL, the headers of its requests, and the key under which it is stored.
public struct Resource: Sendable, Hashable {
  /// The URL. A user and password in it (`https://me:secret@host/…`) are sent as an Authorization
  /// header, to that origin alone, if `headers` has none. They are never stored.
  public var url: URL
  /// Headers sent to the URL's own origin; to others, which redirects or documents name, only
  /// `User-Agent` (by default `Refrain`), `Referer`, `Origin`, `Accept` (by default `*/*`) and
  /// `Accept-Language`. Cookies that redirects set replace those of the same names in `Cookie`.
  public var headers: HeaderFields
  /// The key in every partition. Nil: by `MediaCache.Configuration.cacheKey`, from the URL.
  public var key: CacheKey?
  /// The URLs that may be requested for the resource, redirects included; nil: all.
  package var filter: URLFilter?
  /// Receives the heads of the origin's responses; nil: none.
  package var observer: ResponseObserver?
  /// What the resource is beyond its bytes.
  public var policy = ResourcePolicy()

  public init(url: URL, headers: HeaderFields = [:], key: CacheKey? = nil) {
    (self.url, self.headers, self.key) = (url, headers, key)
  }

  /// Whether both are requested alike, with the same credentials and cookies among the headers.
  func isAsked(as other: Resource) -> Bool {
    headers == other.headers && url.absoluteString == other.url.absoluteString
  }
}

/// What a resource is to its user, beyond its bytes; plain media by default. The parts that a
/// resource does not set are those of `MediaCache.Configuration.policy`.
public struct ResourcePolicy: Sendable {
  /// The group to which the resource belongs; nil: none is known.
  public var group: Group?
  /// How long the entry stays after its last use, in whole seconds, before it is removed unless it
  /// is open or pinned; nil: for as long as there is room. The newest reader's time counts.
  public var keep: Duration?
  /// The rules by which small documents are recognized; nil: no resource is one.
  public var documents: (any DocumentRules)?

  public init(
    group: Group? = nil, keep: Duration? = nil, documents: (any DocumentRules)? = nil
  ) {
    (self.group, self.keep, self.documents) = (group, keep, documents)
  }

  /// Entries that are listed, pinned and removed together, such as all files of one film.
  public struct Group: Sendable, Hashable {
    /// The key of the group's first resource, under which the whole group is listed and removed.
    public var first: CacheKey
    /// Whether it is a secret that opens others of the group, which a shared cache does not store.
    public var isSecret: Bool
    /// Whether the resource is stored even if the origin forbids it (`no-store`), since the user
    /// asked to keep it. It stays if it is pinned before it is closed.
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
  }
}

/// How far fetching goes beyond the bytes that readers ask for.
public enum FillPolicy: String, Sendable, Hashable, Codable {
  /// Nothing beyond the read-ahead window of a live reader.
  case onDemand
  /// Everything, behind the readers' needs, while a reader has the resource open.
  case wholeResource
}

/// Rules for small documents that may change as they go on, such as lists of what comes next. Asked
/// on any thread, once for each request, response, and body of at most `longest` bytes.
public protocol DocumentRules: AnyObject, Sendable {
  /// The longest document, in bytes.
  var longest: Int64 { get }

  /// Whether a resource is named a document: it is requested without a range, and may be decoded.
  ///
  /// - Parameters:
  ///   - mimeType: in lower case, without parameters; nil before the response, and if it has none.
  ///   - url: of the request before the response, then of the response, after redirects.
  func isDocument(mimeType: String?, url: URL) -> Bool

  /// Whether a resource of this type that is not named a document may be one by its content.
  func mayBeUnnamed(mimeType: String?) -> Bool

  /// Whether the origin holds its response back until the resource exists: the cache waits longer,
  /// and that time is no part of the response's age.
  func isHeldBack(_ url: URL) -> Bool

  /// Returns how soon the origin changes a document requested at a URL; nil if it is none.
  /// `beginning` is at most the first 64 bytes of it; `whole` returns all, nil if unreadable.
  func pace(at url: URL, beginning: Data, whole: () -> Data?) -> UpdatePace?

  /// The extensions of data files by MIME type, for URLs without a media extension: one to eight of
  /// `a`…`z`, `0`…`9`.
  var fileExtensions: [String: String] { get }

  /// Returns a decoder of a content coding (RFC 9110 §8.4.1), which no request asks for; or nil.
  func decoder(of coding: String) -> DocumentDecoder?
}

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

/// Decides which URLs may be requested. Filters are equal only if identical.
package final class URLFilter: Sendable, Hashable {
  private static let mostHosts = 65_536

  package let allows: @Sendable (URL) -> Bool
  private let remedy: String
  private let checksAddresses: Bool
  /// The hosts to which public documents and redirects of other hosts have referred.
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

  /// Whether the host's address must be public, since a public document or redirect of another host
  /// refers to it: a public name may lead to a private address.
  package func requiresPublicAddress(of url: URL) -> Bool {
    guard checksAddresses else { return false }
    return referred.withLock { hosts in
      // Further hosts were not recorded.
      hosts.count >= Self.mostHosts || WebOrigin(url).map { hosts.contains($0.host) } ?? true
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

/// Receives the head of each response, redirects included. Equal if the identities are.
package struct ResponseObserver: Sendable, Hashable {
  private let identity: any Hashable & Sendable
  private let receive: @Sendable (URL, HeaderFields) -> Void

  /// - Parameter receive: on any thread, with the responding URL and its fields; must not block.
  package init(
    identity: any Hashable & Sendable, receive: @escaping @Sendable (URL, HeaderFields) -> Void
  ) {
    (self.identity, self.receive) = (identity, receive)
  }

  package func received(_ headers: HeaderFields, from url: URL) { receive(url, headers) }

  package static func == (left: ResponseObserver, right: ResponseObserver) -> Bool {
    AnyHashable(left.identity) == AnyHashable(right.identity)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(identity)) }
}
