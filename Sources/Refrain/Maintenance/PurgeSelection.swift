// SPDX-License-Identifier: MIT
package import Foundation

/// The entries that a purge concerns. A pure value.
package struct PurgeSelection: Sendable, Hashable {
  /// The keys of resources, with all their representations.
  package var keys: Set<CacheKey> = []
  /// The beginnings of URLs, at least with the slash after the host.
  package private(set) var prefixes: Set<String> = []
  /// Tags that the origin's responses have (`tags(in:)`).
  package var tags: Set<String> = []
  package var isEverything = false

  package init() {}

  package var isEmpty: Bool {
    keys.isEmpty && prefixes.isEmpty && tags.isEmpty && !isEverything
  }

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
  var needsSearch: Bool { isEverything || !prefixes.isEmpty || !tags.isEmpty }

  /// Whether an entry is concerned.
  ///
  /// - Parameters:
  ///   - key: the key of the entry, perhaps that of one representation.
  ///   - url: the URL that was requested.
  ///   - fields: those of the stored response.
  func contains(_ key: CacheKey, url: String, fields: HeaderFields) -> Bool {
    if isEverything || keys.contains(key) { return true }
    if let resource = Selection.resourceKey(of: key), keys.contains(resource) { return true }
    for prefix in prefixes
    where key.rawValue.utf8.starts(with: prefix.utf8) || url.utf8.starts(with: prefix.utf8) {
      return true
    }
    return !tags.isEmpty && !tags.isDisjoint(with: Self.tags(in: fields))
  }

  /// Returns the tags that fields name: `Surrogate-Key`, separated by spaces, and `Cache-Tag`,
  /// separated by commas. Their case is significant.
  package static func tags(in fields: HeaderFields) -> Set<String> {
    var tags: Set<String> = []
    for value in fields.values(of: "Surrogate-Key") {
      tags.formUnion(value.split { $0 == " " || $0 == "\t" }.map(String.init))
    }
    for value in fields.values(of: "Cache-Tag") {
      tags.formUnion(value.split(separator: ",").map { String($0.trimmingOWS) })
    }
    return tags.subtracting([""])
  }
}
