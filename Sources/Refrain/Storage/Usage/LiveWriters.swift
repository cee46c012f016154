// SPDX-License-Identifier: MIT
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Which writers of a `UsageRecord` are there no more.
enum LiveWriters {
  /// Those of this process.
  private static let own = Mutex<Set<UInt64>>([])

  static func add(_ id: UInt64) { own.withLock { _ = $0.insert(id) } }

  static func remove(_ id: UInt64) { own.withLock { _ = $0.remove(id) } }

  /// A writer of another process is dead when that is: kill(2) with no signal says ESRCH. One whose
  /// number another process has got by now is found out after the next start of the machine.
  static func dead(among writers: [UsageRecord.Writer]) -> Set<UInt64> {
    let own = own.withLock { $0 }
    let process = Int64(getpid())
    return Set(
      writers.filter { writer in
        if writer.process == process { return !own.contains(writer.id) }
        guard let other = pid_t(exactly: writer.process), other > 0 else { return true }
        return kill(other, 0) != 0 && errno == ESRCH
      }.map(\.id))
  }
}
