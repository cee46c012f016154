// SPDX-License-Identifier: MIT
import Foundation

/// Lines reported from any thread.
///
/// Unchecked: `lines` is read and written only under the lock, which the thread sanitizer sees.
final class Lines: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []

  var all: [String] { lock.withLock { lines } }

  func add(_ line: String) { lock.withLock { lines.append(line) } }
}
