// SPDX-License-Identifier: MIT
import Foundation

/// Lines that were told, from whichever thread.
///
/// Unchecked: `lines` is read and written under the lock alone, one that the thread sanitizer sees.
final class Lines: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []

  var all: [String] { lock.withLock { lines } }

  func add(_ line: String) { lock.withLock { lines.append(line) } }
}
