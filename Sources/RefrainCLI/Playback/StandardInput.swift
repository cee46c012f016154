// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

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

/// A list without the mark of any format, as `find` writes it: a path or a URL per line, by the
/// rules of arguments. A name may have any character but a line break: no line is a comment.
struct PlainList: Sendable {
  private(set) var entries: [Media] = []
  /// The lines that cannot be played, each with the reason in one sentence.
  private(set) var skipped: [String] = []

  /// Blocks: it looks at files.
  init(_ bytes: Data) throws(MediaCacheError) {
    guard bytes.count <= ListKind.longest else {
      throw MediaCacheError(
        .invalidResponse, "The list exceeds the limit of \(ListKind.longest >> 20) MiB.",
        remedy: "Split it into several lists.")
    }
    guard !bytes.contains(0) else {
      throw MediaCacheError(
        .invalidResponse, "Standard input is not a list: it is not text.",
        remedy: "Send a list to it, with a path or URL per line.")
    }
    let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    let lines = bytes.dropFirst(start).split(separator: 0x0A, omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let line = line.last == 0x0D ? line.dropLast() : line
      guard !line.isEmpty else { continue }
      guard let text = String(validating: line, as: UTF8.self) else {
        skipped.append("Line \(index + 1): The name is not in UTF-8.")
        continue
      }
      do {
        // Here "-" is a name.
        entries.append(Media(try PlayArgument.parse(text == "-" ? "./-" : text)))
      } catch {
        skipped.append("Line \(index + 1): “\(text.prefix(200))”: \(error).")
      }
    }
  }
}
