// SPDX-License-Identifier: MIT

/// Finds the first resource of each group.
///
/// An entry is recorded in the group as a part of which it was used. A resource that was the first of
/// a group may have become a part of another one since; the entries of its group are then parts of
/// that one too, although their records name the earlier first resource.
package struct GroupRoots {
  /// The keys that entries name as their groups.
  private var named: Set<CacheKey> = []
  /// The first resources of those among them that are parts of others.
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
      named.insert(next)
      last = next
    }
    guard !named.isEmpty else { return }
    var above: [CacheKey: CacheKey] = [:]
    for index in entries.indices {
      let own = key(entries[index])
      guard let next = group(entries[index]), next != own, named.contains(own) else { continue }
      above[own] = next
    }
    for key in above.keys where roots[key] == nil { follow(key, above) }
  }

  private mutating func follow(_ key: CacheKey, _ above: [CacheKey: CacheKey]) {
    var path = [key]
    var visited: Set<CacheKey> = [key]
    var root: CacheKey?
    while root == nil, let last = path.last {
      guard let next = above[last] else {
        root = path.popLast()
        break
      }
      if let known = roots[next] {
        root = known
      } else if visited.insert(next).inserted {
        path.append(next)
      } else if let start = path.firstIndex(of: next) {
        // Two resources name each other.
        root = path[start...].min { $0.rawValue < $1.rawValue }
      }
    }
    for key in path { roots[key] = root }
  }

  /// Whether no entry belongs to a group.
  package var isEmpty: Bool { named.isEmpty }

  /// Returns the key of the first resource of an entry's group; nil if it belongs to none.
  package func root(of key: CacheKey, group: CacheKey?) -> CacheKey? {
    guard !named.isEmpty else { return nil }
    if let group, group != key { return roots[group] ?? group }
    let own = named.contains(key) ? key : Selection.resourceKey(of: key)
    guard let own, named.contains(own) else { return nil }
    return roots[own] ?? own
  }
}
