// SPDX-License-Identifier: MIT
import Foundation
import Refrain

#if canImport(Darwin)
  import Darwin
#endif

/// Reads a list from standard input.
enum StandardInput {
  /// Returns the bytes up to its end, read on a thread of its own: reading blocks for as long as
  /// somebody types.
  ///
  /// - Parameter limit: bytes beyond are not read.
  /// - Throws: `CancellationError`; `MediaCacheError` if it cannot be read.
  static func read(upTo limit: Int) async throws -> Data {
    let (chunks, told) = AsyncThrowingStream<Data, any Error>.makeStream()
    Thread.detachNewThread {
      var left = limit
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      while left > 0 {
        let count = buffer.withUnsafeMutableBytes {
          Foundation.read(STDIN_FILENO, $0.baseAddress, min(left, $0.count))
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else {
          let cause = count < 0 ? String(cString: strerror(errno)) : nil
          return told.finish(throwing: cause.map(failure))
        }
        told.yield(Data(buffer[..<count]))
        left -= count
      }
      told.finish()
    }
    var bytes = Data()
    for try await chunk in chunks { bytes += chunk }
    try Task.checkCancellation()
    return bytes
  }

  private static func failure(_ cause: String) -> MediaCacheError {
    MediaCacheError(
      .storage, "Standard input cannot be read: \(cause).",
      remedy: "Send a list to it, as in: find . -name '*.flac' | refrain play -")
  }
}
