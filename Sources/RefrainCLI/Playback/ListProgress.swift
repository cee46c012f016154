// SPDX-License-Identifier: MIT
import RefrainLocks

/// The numbers of lists that are known and that have been read, while the arguments of `play` are
/// expanded.
final class ListProgress: Sendable {
  private struct Counts {
    var known = 0
    var read = 0
  }

  private let counts = Mutex(Counts())

  func find(_ count: Int) { counts.withLock { $0.known += count } }

  func finish() { counts.withLock { $0.read += 1 } }

  /// A line for people; nil if nothing is being read.
  var text: String? {
    let now = counts.withLock(\.self)
    return now.read < now.known ? "Reading list \(now.read + 1) of \(now.known)" : nil
  }
}
