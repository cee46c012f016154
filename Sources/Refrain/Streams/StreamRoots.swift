// SPDX-License-Identifier: MIT

/// Finds the first manifest of each stream.
///
/// An entry is recorded as a part of the stream as which it was played. A media playlist that was
/// played by itself first may have become a part of another stream since; its segments are then
/// parts of that stream too, although their records name the media playlist.
package struct StreamRoots {
  /// The keys that entries name as their streams.
  private var named: Set<CacheKey> = []
  /// The first manifests of those among them that are parts of others.
  private var roots: [CacheKey: CacheKey] = [:]

  /// Takes time linear in the number of entries.
  ///
  /// - Parameters:
  ///   - key: returns the key of an entry.
  ///   - stream: returns the stream that its record names.
  package init<Entry>(
    _ entries: [Entry], key: (borrowing Entry) -> CacheKey, stream: (borrowing Entry) -> CacheKey?
  ) {
    // The entries of a stream often follow each other.
    var last: CacheKey?
    for index in entries.indices {
      guard let next = stream(entries[index]), next != last, next != key(entries[index]) else {
        continue
      }
      named.insert(next)
      last = next
    }
    guard !named.isEmpty else { return }
    var above: [CacheKey: CacheKey] = [:]
    for index in entries.indices {
      let own = key(entries[index])
      guard let next = stream(entries[index]), next != own, named.contains(own) else { continue }
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
        // Two manifests name each other.
        root = path[start...].min { $0.rawValue < $1.rawValue }
      }
    }
    for key in path { roots[key] = root }
  }

  /// Whether no entry belongs to a stream.
  package var isEmpty: Bool { named.isEmpty }

  /// Returns the key of the first manifest of an entry's stream; nil if it belongs to none.
  package func root(of key: CacheKey, stream: CacheKey?) -> CacheKey? {
    guard !named.isEmpty else { return nil }
    if let stream, stream != key { return roots[stream] ?? stream }
    let own = named.contains(key) ? key : Selection.resourceKey(of: key)
    guard let own, named.contains(own) else { return nil }
    return roots[own] ?? own
  }
}
