// SPDX-License-Identifier: MIT
package import Foundation

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

  /// Returns the policy with what it does not set.
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

/// Receives the head of each response of an origin, redirects included. Observers are equal if their
/// identities are. Resources with different observers are different, and the redirects of one are
/// not known for the other.
package struct ResponseObserver: Sendable, Hashable {
  private let identity: any Hashable & Sendable
  private let receive: @Sendable (URL, HeaderFields) -> Void

  /// - Parameter receive: called with the URL that responded, and the fields of its response, on any
  ///   thread; must not block.
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

/// How far fetching goes beyond the bytes that readers ask for.
public enum FillPolicy: String, Sendable, Hashable, Codable {
  /// Nothing beyond the read-ahead window of a live reader.
  case onDemand
  /// While a reader has the resource open, its holes are filled to the end, behind the readers'
  /// needs.
  case wholeResource
}
