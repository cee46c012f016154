// SPDX-License-Identifier: MIT
import RefrainLocks

/// Counts what a design costs besides the network.
final class Meter: Sendable {
  struct Counts: Sendable {
    /// Bytes of media in memory: received and not released, read, or kept.
    var held: Int64 = 0
    var peakMemory: Int64 = 0
    /// Bytes of media that arrived, without those in flight when a request was cancelled.
    var received: Int64 = 0
    var mediaWritten: Int64 = 0
    /// Bytes written to record which ranges are stored.
    var recordsWritten: Int64 = 0
    /// The number of checks whether a waiting request can be answered.
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
