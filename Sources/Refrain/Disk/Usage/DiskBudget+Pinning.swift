// SPDX-License-Identifier: MIT
import RefrainLocks

/// The disk space that pinned entries claim of the limit.
extension DiskBudget {
  /// The most that pinned entries may claim together; nil for no limit.
  var pinnableBytes: Int64? { usableLimit.map { $0 - Self.overhead } }

  /// Returns the disk space that all pinned entries but one claim, of those known.
  func pinnedBytes(except name: String) -> Int64 {
    index.withLock { $0.pinnedBytes(except: name) }
  }

  /// As above, for all pinned entries but some.
  func pinnedBytes(except names: Set<String>) -> Int64 {
    index.withLock { index in
      // No entry has an empty name.
      let all = index.pinnedBytes(except: "")
      return names.reduce(all) { $0 - (all - index.pinnedBytes(except: $1)) }
    }
  }

  /// Whether a resource of that length would fit if nothing else were stored besides the pinned
  /// entries.
  ///
  /// - Parameter name: the resource's entry, which may be pinned itself.
  func canHold(_ length: Int64, for name: String) -> Bool {
    pinnableBytes.map { length <= $0 - pinnedBytes(except: name) } ?? true
  }

  /// Scans the directory unless it was scanned recently: other processes may have pinned entries.
  /// Without a limit, their number does not matter.
  func knowPinned() async {
    if limit != nil { _ = await rescan() }
  }

  /// Claims space for an entry that is about to be pinned. Balanced by `notePinned`.
  ///
  /// - Returns: false if it would not fit beside the other pinned entries.
  func claimPinned(_ bytes: Int64, for name: String) -> Bool {
    let room = pinnableBytes ?? .max
    return index.withLock { $0.claim(bytes, for: name, within: room) }
  }

  /// Measures an entry after its pin was set or removed. Blocks.
  func notePinned(_ name: String) {
    index.withLock { $0.endClaim(name) }
    do throws(DiskError) {
      let measured = try measure(name)
      index.withLock { index in
        if let measured { index.note(measured) } else { index.forget(name) }
      }
    } catch {
      // The claim stays until the next scan.
    }
  }
}
