// SPDX-License-Identifier: MIT
import Synchronization

/// Counts what a design costs besides the network.
final class Meter: Sendable {
  struct Counts: Sendable {
    /// Media in memory now: received and not let go of, read, or kept.
    var held: Int64 = 0
    var peakMemory: Int64 = 0
    /// Media that arrived: what was under way when a request was called off did not.
    var received: Int64 = 0
    var mediaWritten: Int64 = 0
    /// What was written to remember which bytes are there.
    var recordsWritten: Int64 = 0
    /// How often it was looked whether a waiting request can be answered.
    var scans: Int64 = 0
  }

  private let state = Mutex(Counts())

  var counts: Counts { state.withLock { $0 } }

  func hold(_ bytes: Int) {
    state.withLock { counts in
      counts.held += Int64(bytes)
      counts.peakMemory = max(counts.peakMemory, counts.held)
    }
  }

  func received(_ bytes: Int) { state.withLock { $0.received += Int64(bytes) } }
  func letGo(_ bytes: Int) { state.withLock { $0.held -= Int64(bytes) } }
  func wrote(media bytes: Int) { state.withLock { $0.mediaWritten += Int64(bytes) } }
  func wrote(record bytes: Int) { state.withLock { $0.recordsWritten += Int64(bytes) } }
  func scanned(_ count: Int) { state.withLock { $0.scans += Int64(count) } }
}
