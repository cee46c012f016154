// SPDX-License-Identifier: MIT

/// Finds the first resource of each group.
///
/// An entry is recorded in the group as a part of which it was used. A resource that was the first of
/// a group may have become a part of another one since; the entries of its group are then parts of
/// that one too, although their records name the earlier first resource.
package struct GroupRoots {
  /// The first resources of the groups that entries name, by the keys that they name.
  private var roots: [CacheKey: CacheKey] = [:]

  /// Takes time linear in the number of entries.
  ///
  /// - Parameters:
  ///   - key: returns the key of an entry.
  ///   - group: returns the group that its record names.
  package init<Element>(
    _ entries: [Element], key: (borrowing Element) -> CacheKey,
    group: (borrowing Element) -> CacheKey?
  ) {
    // The entries of a group often follow each other.
    var last: CacheKey?
    for index in entries.indices {
      guard let next = group(entries[index]), next != last, next != key(entries[index]) else {
        continue
      }
      roots[next] = next
      last = next
    }
    guard !roots.isEmpty else { return }
    for index in entries.indices {
      let own = key(entries[index])
      if let next = group(entries[index]), next != own, roots[own] != nil { roots[own] = next }
    }
    for key in roots.keys { follow(key) }
  }

  private mutating func follow(_ key: CacheKey) {
    var path = [key]
    var visited: Set<CacheKey> = [key]
    var last = key
    while let next = roots[last], visited.insert(next).inserted {
      path.append(next)
      last = next
    }
    // The last one is the root, or in a circle: then resources name each other.
    let start = roots[last].flatMap(path.firstIndex) ?? path.endIndex - 1
    let root = path[start...].min { $0.rawValue < $1.rawValue }
    for key in path { roots[key] = root }
  }

  /// Whether no entry belongs to a group.
  package var isEmpty: Bool { roots.isEmpty }

  /// Returns the key of the first resource of an entry's group; nil if it belongs to none.
  package func root(of key: CacheKey, group: CacheKey?) -> CacheKey? {
    guard !roots.isEmpty else { return nil }
    if let group, group != key { return roots[group] ?? group }
    return roots[key] ?? Selection.resourceKey(of: key).flatMap { roots[$0] }
  }
}
