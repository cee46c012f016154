// SPDX-License-Identifier: MIT
import Foundation

/// For front doors that answer HTTP's requests.
extension MediaCache {
  /// Whether nothing may be asked of the network.
  package var isOffline: Bool { context.configuration.offline }

  /// A request was made that may have changed the resource: what is stored of it is used again only
  /// after the origin has confirmed it (RFC 9111 §4.4).
  ///
  /// - Parameter key: nil: the resource's own.
  package func invalidate(_ resource: Resource, key: CacheKey? = nil) async throws {
    let key = key ?? self.key(for: resource)
    try await withStored(key, resource) { $0.invalidate() }
  }

  /// The origin has answered a request that the cache had no part in: where that tells that what is
  /// stored is out of date, it is used again only after it was confirmed (RFC 9111 §4.3.5).
  ///
  /// - Parameter headers: of a response to HEAD or GET with all of the resource.
  package func compare(_ resource: Resource, key: CacheKey, with headers: HTTPFields) async throws {
    var key = key
    for _ in 0..<Self.longestChain {
      let other = try await withStored(key, resource) { entry -> CacheKey? in
        guard
          let (known, validator) = entry.current?.withState({ ($0.known, $0.validator) }),
          let known
        else { return nil }
        if let other = known.otherKey(than: key, for: resource.headers) { return other }
        let length = ResponseCheck.contentLength(headers)
        let lengthDiffers = length.map { $0 != known.information.length } ?? false
        if lengthDiffers || validator.matches(Validator(headers: headers)) == .different {
          entry.invalidate()
        }
        return nil
      }
      guard let next = other ?? nil else { return }
      key = next
    }
  }

  /// A representation may vary by more than the one that was found first, and so on.
  static let longestChain = 4

  /// - Returns: nil where nothing is stored under the key.
  private func withStored<Result>(
    _ key: CacheKey, _ resource: Resource, _ body: (Entry) -> Result
  ) async throws -> Result? {
    if context.table.openEntry(for: key) == nil {
      guard try await self.entry(for: key) != nil else { return nil }
    }
    let entry = try await entry(for: key, resource)
    defer { entry.release() }
    return body(entry)
  }

  /// What is open under a key, held so that requests can be answered from it at once; nil where
  /// nothing is open, or nothing known of it.
  package func hold(_ reader: MediaReader) -> EntryLease? {
    EntryLease(reader.entry)
  }

  /// Has `release` called where room is needed on disk: whoever holds entries that nobody reads lets
  /// go of them, and says whether there were any.
  ///
  /// - Returns: what ends it, given to `forgetIdleHolds`.
  package func releaseIdleLeases(by release: @escaping @Sendable () -> Bool) -> UInt64 {
    context.reclaimableLeases.add(release)
  }

  package func forgetIdleLeases(_ id: UInt64) { context.reclaimableLeases.remove(id) }

  /// The answer by which the origin has asked to be left alone for a while, where that has not
  /// passed: no request is to be made for the resource.
  package func rest(of resource: Resource) -> OriginRests.Rest? {
    context.rests.rest(of: resource, at: context.now)
  }

  /// Records what the origin has answered to a request that the cache had no part in.
  package func noteRest(of resource: Resource, status: Int, headers: HTTPFields) {
    context.rests.note(resource, status: status, headers: headers, at: context.now)
  }

  /// What time it is for the cache.
  package var now: Moment { context.now }

  /// The cache's configuration follows RFC 9111 as a shared cache.
  package var isShared: Bool { context.configuration.isShared }
}
