// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainLocks

#if canImport(Darwin)
  import Darwin
#endif

/// Writes a resource through the cache to a file or to standard output, even if the cache may not
/// store it or it is too large.
///
/// A file appears under its name only when it is complete.
struct FileCopy: Sendable {
  enum Destination: Sendable {
    case file(URL)
    case standardOutput

    /// `-` is standard output, anything else the path of a file.
    init(_ text: String) {
      self =
        text == "-" ? .standardOutput : .file(URL(filePath: text, directoryHint: .notDirectory))
    }

    /// The destination's name in a sentence.
    var name: String {
      switch self {
      case .file(let url): url.path(percentEncoded: false)
      case .standardOutput: "standard output"
      }
    }
  }

  private let destination: Destination
  private let isCancelled = Flag()

  /// A flag set by one thread and read by another.
  private final class Flag: Sendable {
    private let value = Atomic(false)
    func set() { value.store(true, ordering: .relaxed) }
    var isSet: Bool { value.load(ordering: .relaxed) }
  }

  init(to destination: Destination) { self.destination = destination }

  /// Copies the resource. Returns its length.
  ///
  /// - Throws: `MediaCacheError`; `ExitCode` if standard output has no reader any more.
  func run(
    _ resource: Resource, from cache: MediaCache,
    told: @escaping @Sendable (_ written: Int64, _ total: Int64?) -> Void
  ) async throws -> Int64? {
    let reader = try await cache.open(resource, fill: .wholeResource)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // Reading and writing block, so they have their own thread.
        let thread = Thread {
          continuation.resume(with: Result { try write(reader, told) })
        }
        thread.name = "refrain.copy"
        thread.start()
      }
    } onCancel: {
      isCancelled.set()
      reader.cancel()
    }
  }

  private func write(
    _ reader: MediaReader, _ told: (_ written: Int64, _ total: Int64?) -> Void
  ) throws -> Int64? {
    defer { reader.cancel() }
    let total = try reader.contentInformationBlocking().length
    let written =
      switch destination {
      case .file(let target): try write(reader, to: target) { told($0, total) }
      case .standardOutput: try copy(reader, STDOUT_FILENO) { told($0, total) }
      }
    told(written, written)
    return written
  }

  private func write(
    _ reader: MediaReader, to target: URL, _ told: (Int64) -> Void
  ) throws -> Int64 {
    let path = target.deletingLastPathComponent()
      .appending(path: ".\(target.lastPathComponent).\(getpid()).partial")
      .path(percentEncoded: false)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw failure("created") }
    do {
      defer { close(file) }
      let written = try copy(reader, file, told)
      guard fsync(file) == 0 else { throw failure("written") }
      guard rename(path, target.path(percentEncoded: false)) == 0 else {
        throw failure("moved into place")
      }
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
      try waitUntilWritable(file)
      // At most as many bytes as a pipe accepts at once: a stalled reader must not prevent
      // cancellation.
      let part = isFile ? rest.count : min(rest.count, Self.pipePart)
      let count = Foundation.write(file, rest.baseAddress, part)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      if count < 0, errno == EPIPE, !isFile {
        // The reader closed the pipe, as `head` does.
        throw ExitCode(128 + SIGPIPE)
      }
      guard count >= 0 else { throw failure("written") }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// PIPE_BUF (pipe(7)): the bytes that a pipe accepts without blocking when poll(2) reports it
  /// writable.
  private static let pipePart = 4096

  private var isFile: Bool { if case .file = destination { true } else { false } }

  private func waitUntilWritable(_ file: CInt) throws {
    guard !isFile else { return }
    while true {
      if isCancelled.isSet { throw CancellationError() }
      var poll = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
      if Foundation.poll(&poll, 1, 200) > 0 { return }
    }
  }

  private func failure(_ what: String) -> MediaCacheError {
    let reason = String(cString: strerror(errno))
    return MediaCacheError(
      .storage, "\(destination.name) could not be \(what): \(reason).",
      remedy: isFile
        ? "Check that its folder exists, has free space and is writable."
        : "Check where it is redirected to.")
  }
}
