// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Writes a resource to a file through the cache: also one that the cache cannot keep, because it
/// may not or is too large.
///
/// The file appears under its name when it is whole, not before.
struct FileCopy: Sendable {
  private let target: URL
  private let partial: URL

  init(to target: URL) {
    self.target = target
    partial = target.deletingLastPathComponent()
      .appending(path: ".\(target.lastPathComponent).\(getpid()).partial")
  }

  /// Returns the length.
  func run(
    _ resource: Resource, from cache: MediaCache,
    told: @escaping @Sendable (_ written: Int64, _ total: Int64?) -> Void
  ) async throws -> Int64? {
    let reader = try await cache.open(resource, fill: .wholeResource)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // Reading and writing block: they have a thread of their own.
        let thread = Thread {
          continuation.resume(with: Result { try write(reader, told) })
        }
        thread.name = "refrain.copy"
        thread.start()
      }
    } onCancel: {
      reader.cancel()
    }
  }

  private func write(
    _ reader: MediaReader, _ told: (_ written: Int64, _ total: Int64?) -> Void
  ) throws -> Int64? {
    defer { reader.cancel() }
    let total = try reader.contentInformationBlocking().length
    let path = partial.path(percentEncoded: false)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw failure("created") }
    do {
      defer { close(file) }
      let written = try copy(reader, file) { told($0, total) }
      guard fsync(file) == 0 else { throw failure("written") }
      guard rename(path, target.path(percentEncoded: false)) == 0 else {
        throw failure("put in place")
      }
      told(written, written)
      return written
    } catch {
      unlink(path)
      throw error
    }
  }

  private func copy(
    _ reader: MediaReader, _ file: CInt, _ told: (Int64) -> Void
  ) throws -> Int64 {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while true {
      let count = try reader.readBlocking(into: buffer, at: offset)
      guard count > 0 else { return offset }
      try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: file)
      offset += Int64(count)
      told(offset)
    }
  }

  private func write(_ bytes: UnsafeRawBufferPointer, to file: CInt) throws {
    var rest = bytes
    while !rest.isEmpty {
      let count = Foundation.write(file, rest.baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure("written") }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  private func failure(_ what: String) -> MediaCacheError {
    let reason = String(cString: strerror(errno))
    return MediaCacheError(
      .storage, "\(target.path(percentEncoded: false)) could not be \(what): \(reason).",
      remedy: "Check that its folder exists, has room and may be written to.")
  }
}
