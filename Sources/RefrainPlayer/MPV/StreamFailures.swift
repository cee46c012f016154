// SPDX-License-Identifier: MIT
import Refrain

/// The bytes of a stream that could not be read, and why. A pure value.
///
/// A failure stays until its bytes have been read. After an error, a demuxer reads on elsewhere: it
/// looks for tags at the end, or returns to the start. Success there proves nothing about the
/// missing bytes, and libmpv reports a file that stops at a failed read as played to its end.
struct StreamFailures: Sendable {
  private struct Failure {
    var offset: Int64
    var error: MediaCacheError
  }

  /// The failures, the latest one last.
  private var failures: [Failure] = []
  /// Whether any byte was read.
  private var hasRead = false

  /// The error of the latest missing byte; nil if no byte is missing.
  var error: MediaCacheError? { failures.last?.error }

  /// Returns why the byte at `offset` is not requested again; nil: it may be. The origin refused
  /// this byte for good, or the whole resource if none of its bytes were read.
  func refusal(at offset: Int64) -> MediaCacheError? {
    failures.last { $0.error.isRefusal && ($0.offset == offset || !hasRead) }?.error
  }

  /// Records that the byte at `offset` could not be read.
  mutating func fail(at offset: Int64, _ error: MediaCacheError) {
    failures.removeAll { $0.offset == offset }
    failures.append(Failure(offset: offset, error: error))
  }

  /// Records that these bytes were read.
  mutating func succeed(in range: Range<Int64>) {
    if !range.isEmpty { hasRead = true }
    guard !failures.isEmpty else { return }
    failures.removeAll { range.contains($0.offset) }
  }
}

extension MediaCacheError {
  /// Whether the origin responded with a status that another request would receive again.
  fileprivate var isRefusal: Bool {
    code == .status && status.map { !RetryPolicy.isTransient(status: $0) } ?? false
  }
}
