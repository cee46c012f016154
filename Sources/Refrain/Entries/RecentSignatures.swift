// SPDX-License-Identifier: MIT
import RefrainLocks

/// The confirmed signatures of entries that were closed, as long as this process runs: a record has
/// only the newest one, in its URL. Signatures are secrets, so the others are not written to disk.
///
/// All methods may be called from any thread.
final class RecentSignatures: Sendable {
  private static let capacity = 4096

  private let entries = Mutex<[CacheKey: (generation: String, signatures: [String])]>([:])

  func note(_ signatures: [String], of key: CacheKey, generation: String?) {
    entries.withLock { entries in
      guard let generation, signatures.count > 1 else {
        entries[key] = nil
        return
      }
      // What is forgotten is confirmed again, with one request.
      if entries.count >= Self.capacity, entries[key] == nil { entries = [:] }
      entries[key] = (generation, signatures)
    }
  }

  /// Returns the signatures confirmed for a generation of an entry.
  func signatures(of key: CacheKey, generation: String?) -> [String] {
    entries.withLock { entries in
      guard let found = entries[key], found.generation == generation else { return [] }
      return found.signatures
    }
  }
}
