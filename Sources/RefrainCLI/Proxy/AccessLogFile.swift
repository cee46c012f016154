// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// The file of an access log. Lines that cannot be written are lost and counted; writing goes on
/// with the next ones. Used by one thread at a time; its calls block.
struct AccessLogFile: Sendable {
  let path: String
  private var descriptor: CInt
  /// Whether the last line in the file is incomplete.
  private var isTorn = false
  /// The lines lost since the last one that was written.
  private var lost = 0
  private var isFailing = false
  private let report: @Sendable (String) -> Void
  private let put: Put

  /// As write(2).
  typealias Put = @Sendable (CInt, UnsafeRawBufferPointer) -> Int

  /// Opens the file, or creates it.
  ///
  /// - Parameters:
  ///   - path: the file's.
  ///   - put: writes bytes to a descriptor.
  ///   - report: receives a sentence when writing begins to fail, and when it succeeds again.
  /// - Throws: `ProgramError` if it cannot be opened.
  init(
    path: String, put: @escaping Put = { Foundation.write($0, $1.baseAddress, $1.count) },
    report: @escaping @Sendable (String) -> Void
  ) throws {
    self.path = path
    self.put = put
    self.report = report
    descriptor = try Self.open(path)
  }

  private static func open(_ path: String) throws -> CInt {
    let descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o640)
    guard descriptor >= 0 else {
      throw ProgramError(
        "The access log \(path) cannot be opened: \(String(cString: strerror(errno))).",
        remedy: "Check its folder, or name another file with --access-log.")
    }
    return descriptor
  }

  /// Opens the file of this name again, after another program has renamed the open one. If that
  /// fails, lines go on into the old one.
  mutating func reopen() {
    do {
      let new = try Self.open(path)
      close()
      (descriptor, isTorn) = (new, false)
    } catch {
      report("\(error)")
    }
  }

  func close() { _ = Foundation.close(descriptor) }

  /// Writes lines, each with its line feed.
  ///
  /// - Parameter lostBefore: how many lines were dropped before them.
  mutating func write(_ lines: String, lostBefore: Int = 0) {
    lost += lostBefore
    let bytes = Array(((isTorn ? "\n" : "") + lines).utf8)
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { put(descriptor, $0) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return failed(bytes, written, count < 0 ? errno : EIO) }
      written += count
    }
    isTorn = false
    let isOver = isFailing
    isFailing = false
    guard lost > 0 else { return }
    report("\(isOver ? "The access log is written again; " : "")\(lost) lines of it were lost.")
    lost = 0
  }

  private mutating func failed(_ bytes: [UInt8], _ written: Int, _ number: CInt) {
    let feed = UInt8(ascii: "\n")
    // The feed that would end a torn line is not a line of its own.
    let rest = bytes[written...].count { $0 == feed } - (isTorn && written == 0 ? 1 : 0)
    lost += rest
    if written > 0 { isTorn = bytes[written - 1] != feed }
    guard !isFailing else { return }
    isFailing = true
    report(
      "The access log \(path) cannot be written (\(String(cString: strerror(number)))). Requests "
        + "are served on, and their lines are lost. Free space, or rename the file and send SIGUSR1."
    )
  }
}
