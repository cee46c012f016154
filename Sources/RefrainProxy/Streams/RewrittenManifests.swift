// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainStreams

/// The manifests that were rewritten last: clients request the same playlist again and again, and
/// eight clients of a live stream request it eight times.
final class RewrittenManifests: Sendable {
  /// All that a rewriting depends on, besides the manifest's bytes.
  struct Key: Hashable, Sendable {
    /// The URL to which references are relative.
    var url: URL
    var clientTarget: String
    var session: String?
    var imported: [String: String]
  }

  private struct Known {
    var original: [UInt8]
    var rewritten: ManifestRewriting.Rewritten
    var lastUse: UInt64

    /// In bytes, without what is small.
    var size: Int { original.count + rewritten.body.count + 16 * rewritten.parts.roles.count }
  }

  private struct State {
    var known: [Key: Known] = [:]
    var size = 0
    var uses: UInt64 = 0

    mutating func remove(_ key: Key) {
      if let old = known.removeValue(forKey: key) { size -= old.size }
    }
  }

  private let mostManifests: Int
  private let mostBytes: Int
  private let state = Mutex(State())

  init(mostManifests: Int = 64, mostBytes: Int = 8 << 20) {
    self.mostManifests = mostManifests
    self.mostBytes = mostBytes
  }

  /// Returns the rewritten form of a manifest; nil if it is not kept.
  func rewritten(_ body: [UInt8], _ key: Key) -> ManifestRewriting.Rewritten? {
    state.withLock { state in
      guard let known = state.known[key], known.original == body else { return nil }
      state.uses += 1
      state.known[key]?.lastUse = state.uses
      return known.rewritten
    }
  }

  /// Keeps a rewritten manifest in place of an older version, and of those not used for the longest
  /// time if there are too many.
  func insert(_ rewritten: ManifestRewriting.Rewritten, of body: [UInt8], _ key: Key) {
    state.withLock { state in
      state.remove(key)
      state.uses += 1
      let new = Known(original: body, rewritten: rewritten, lastUse: state.uses)
      guard new.size <= mostBytes else { return }
      while state.known.count >= mostManifests || state.size + new.size > mostBytes {
        guard let oldest = state.known.min(by: { $0.value.lastUse < $1.value.lastUse }) else {
          break
        }
        state.remove(oldest.key)
      }
      state.known[key] = new
      state.size += new.size
    }
  }
}
