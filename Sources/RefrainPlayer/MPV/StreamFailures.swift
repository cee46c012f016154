// SPDX-License-Identifier: MIT
import Refrain

/// The bytes of a stream that could not be read, and why. A pure value.
///
/// A failure stays until those very bytes have been read. A demuxer reads on elsewhere after an error:
/// it looks for tags at the end, or returns to the start. Success there proves nothing about the bytes
/// that are missing, and libmpv reports a file that stops at a failed read as played to its end.
struct StreamFailures: Sendable {
  private struct Failure {
    var offset: Int64
    var error: MediaCacheError
  }

  /// The latest one last.
  private var failures: [Failure] = []

  /// Why the latest of the missing bytes could not be read; nil where no byte is missing.
  var error: MediaCacheError? { failures.last?.error }

  /// The byte at `offset` could not be read.
  mutating func fail(at offset: Int64, _ error: MediaCacheError) {
    failures.removeAll { $0.offset == offset }
    failures.append(Failure(offset: offset, error: error))
  }

  /// These bytes were read.
  mutating func succeed(in range: Range<Int64>) {
    guard !failures.isEmpty else { return }
    failures.removeAll { range.contains($0.offset) }
  }
}
