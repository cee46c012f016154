// SPDX-License-Identifier: MIT
import Foundation

/// For front doors that answer HTTP's requests.
extension MediaCache {
  /// A reader for one request: of the representation that it selects (RFC 9111 §4.1), on its terms.
  ///
  /// - Parameter key: the key of the resource, whatever its representations; nil: its own.
  package func open(
    _ resource: Resource, on terms: ReadingTerms, fill: FillPolicy? = nil, key: CacheKey? = nil
  ) async throws -> MediaReader {
    var terms = terms
    let primary = key ?? self.key(for: resource)
    let entry = try await entry(for: primary, resource)
    let reader = try reader(of: entry, on: terms, fill: fill)
    var known = entry.current?.withState { $0.known }
    if known == nil, entry.resource != resource {
      // Somebody else's question is under way: its answer may be for requests like that one alone.
      known = try await reader.knownResponse()
    }
    guard let known, let other = known.otherKey(than: primary, for: resource.headers) else {
      entry.renew(resource)
      return reader
    }
    reader.cancel()
    terms.notBefore = [terms.notBefore, known.invalidatedAt].compactMap { $0 }.max()
    let variant = try await self.entry(for: other, resource)
    variant.renew(resource)
    return try self.reader(of: variant, on: terms, fill: fill)
  }

  private func entry(for key: CacheKey, _ resource: Resource) async throws -> Entry {
    let context = context
    return try await context.table.entry(for: key) {
      Entry(key: key, resource: resource, context: context)
    }
  }

  /// Takes over the hold on the entry.
  private func reader(
    of entry: Entry, on terms: ReadingTerms, fill: FillPolicy?
  ) throws -> MediaReader {
    do {
      return try MediaReader(
        entry: entry, configuration: context.configuration,
        fill: fill ?? context.configuration.fill, terms: terms)
    } catch {
      entry.release()
      throw error
    }
  }

  /// A request was made that may have changed the resource: what is stored of it is used again only
  /// after the origin has confirmed it (RFC 9111 §4.4).
  package func invalidate(_ key: CacheKey) async throws {
    guard
      let summary = context.table.openEntry(for: key) == nil ? try await self.entry(for: key) : nil
    else {
      context.table.openEntry(for: key)?.invalidate()
      return
    }
    let entry = try await entry(for: key, Resource(url: summary.url))
    entry.invalidate()
    entry.release()
  }

  /// What is open under a key, held so that requests can be answered from it at once; nil where
  /// nothing is open, or nothing known of it.
  package func hold(_ reader: MediaReader) -> HeldEntry? {
    HeldEntry(reader.entry)
  }

  /// Has `release` called where room is needed on disk: whoever holds entries that nobody reads lets
  /// go of them.
  ///
  /// - Returns: what ends it, given to `forgetIdleHolds`.
  package func releaseIdleHolds(by release: @escaping @Sendable () -> Void) -> UInt64 {
    context.idleHolds.add(release)
  }

  package func forgetIdleHolds(_ id: UInt64) { context.idleHolds.remove(id) }

  /// The cache's configuration follows RFC 9111 as a shared cache.
  package var isShared: Bool { context.configuration.isShared }
}
