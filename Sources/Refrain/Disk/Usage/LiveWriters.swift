// SPDX-License-Identifier: MIT
import RefrainLocks

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Finds the writers of a `UsageRecord` that no longer exist.
enum LiveWriters {
  /// The writers of this process.
  private static let own = Mutex<Set<UInt64>>([])

  static func add(_ id: UInt64) { own.withLock { _ = $0.insert(id) } }

  static func remove(_ id: UInt64) { own.withLock { _ = $0.remove(id) } }

  /// Returns the dead writers. A writer of another process is dead if its process is: kill(2) with
  /// signal 0 fails with ESRCH. If another process has received the same identifier, the writer is
  /// only detected after the next boot.
  static func dead(among writers: [UsageRecord.Writer]) -> Set<UInt64> {
    let process = Int64(getpid())
    let ended = own.withLock { own in
      writers.filter { $0.process == process && !own.contains($0.id) }
    }
    let lost = writers.filter { writer in
      if writer.process == process { return false }
      guard let other = pid_t(exactly: writer.process), other > 0 else { return true }
      return kill(other, 0) != 0 && errno == ESRCH
    }
    return Set((ended + lost).map(\.id))
  }
}
