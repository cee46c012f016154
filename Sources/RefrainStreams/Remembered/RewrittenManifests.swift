// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// The manifests that were rewritten last: clients request the same playlist again and again, and
/// eight clients of a live stream request it eight times.
package final class RewrittenManifests: Sendable {
  /// All that a rewriting depends on, besides the manifest's bytes.
  package struct Key: Hashable, Sendable {
    /// The URL to which references are relative.
    package var url: URL
    package var clientTarget: String
    package var session: String?
    package var imported: [String: String]

    package init(url: URL, clientTarget: String, session: String?, imported: [String: String]) {
      (self.url, self.clientTarget) = (url, clientTarget)
      (self.session, self.imported) = (session, imported)
    }
  }

  private struct Known {
    var key: Key
    var original: [UInt8]
    var rewritten: ManifestRewriting.Rewritten

    /// In bytes, without what is small.
    var size: Int { original.count + rewritten.body.count + 16 * rewritten.parts.roles.count }
  }

  private let mostManifests: Int
  private let mostBytes: Int
  /// The most recently used last.
  private let known = Mutex<[Known]>([])

  package init(mostManifests: Int = 64, mostBytes: Int = 8 << 20) {
    (self.mostManifests, self.mostBytes) = (mostManifests, mostBytes)
  }

  /// Returns the rewritten form of a manifest; nil if it is not kept.
  package func rewritten(_ body: [UInt8], _ key: Key) -> ManifestRewriting.Rewritten? {
    known.withLock { known in
      guard let index = known.firstIndex(where: { $0.key == key }),
        known[index].original == body
      else { return nil }
      known.append(known.remove(at: index))
      return known.last?.rewritten
    }
  }

  /// Keeps a rewritten manifest in place of an older version, and of those not used for the longest
  /// time if there are too many.
  package func insert(_ rewritten: ManifestRewriting.Rewritten, of body: [UInt8], _ key: Key) {
    let new = Known(key: key, original: body, rewritten: rewritten)
    known.withLock { known in
      known.removeAll { $0.key == key }
      guard new.size <= mostBytes else { return }
      known.append(new)
      var size = known.reduce(0) { $0 + $1.size }
      while known.count > mostManifests || size > mostBytes { size -= known.removeFirst().size }
    }
  }
}
