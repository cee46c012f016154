// SPDX-License-Identifier: MIT
package import Foundation

/// The entries that a purge concerns. A pure value.
package struct PurgeSelection: Sendable, Hashable {
  /// The keys of resources, with all their representations.
  package var keys: Set<CacheKey> = []
  /// The beginnings of URLs, at least with the slash after the host.
  package private(set) var prefixes: Set<String> = []
  package var isEverything = false

  package init() {}

  package var isEmpty: Bool { keys.isEmpty && prefixes.isEmpty && !isEverything }

  /// Adds all resources whose URLs begin with this one, without its fragment. A URL without a path
  /// stands for its whole host.
  package mutating func insert(prefix url: URL) {
    // Keys are normalized, and URLs are stored as they were requested.
    let requested = String(url.withoutUserInfo.absoluteString.prefix { $0 != "#" })
    for text in [CacheKey(url: url).rawValue, requested] {
      guard let host = text.firstRange(of: "://")?.upperBound else { continue }
      let isWhole = text[host...].contains { $0 == "/" || $0 == "?" }
      // Otherwise the hosts whose names begin with this one would be meant, too.
      prefixes.insert(isWhole ? text : text + "/")
    }
  }

  /// Whether the stored entries have to be searched.
  var needsSearch: Bool { isEverything || !prefixes.isEmpty }

  /// Whether an entry is concerned.
  ///
  /// - Parameters:
  ///   - key: the key of the entry, perhaps that of one representation.
  ///   - url: the URL that was requested.
  func contains(_ key: CacheKey, url: String) -> Bool {
    if isEverything || keys.contains(key) { return true }
    if let resource = Selection.resourceKey(of: key), keys.contains(resource) { return true }
    return prefixes.contains { prefix in
      key.rawValue.utf8.starts(with: prefix.utf8) || url.utf8.starts(with: prefix.utf8)
    }
  }
}

/// Purging: the origin's resources have changed, and the stored responses must not be used as if
/// they had not.
extension MediaCache {
  /// Removes entries (`Removal`).
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read; `CancellationError`,
  ///   with some of the entries purged.
  package func purge(_ selection: PurgeSelection) async throws -> RemovedEntries {
    let removal = removal
    var keys: Set<CacheKey> = []
    // First: what requests from before this moment bring is not to be used.
    for entry in await table.settledEntries()
    where selection.contains(entry.key, url: entry.resource.url.withoutUserInfo.absoluteString) {
      keys.insert(entry.key)
    }
    let inspector = inspector
    keys.formUnion(selection.keys)
    keys.formUnion(
      try await reportingStorage {
        guard selection.needsSearch else {
          return try await inspector.representations(of: selection.keys)
        }
        return Set(
          try await inspector.records { key, record in
            selection.contains(key, url: record.url) ? key : nil
          })
      })
    return try await removal.remove(keys)
  }
}
