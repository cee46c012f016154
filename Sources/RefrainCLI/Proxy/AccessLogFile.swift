// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(Darwin)
  import Darwin
#endif

/// The file of an access log. Each line is written at once; those that cannot be written are lost
/// and counted. May be used from any thread.
final class AccessLogFile: Sendable {
  /// As write(2).
  typealias Put = @Sendable (CInt, UnsafeRawBufferPointer) -> Int

  private struct State {
    var descriptor: CInt
    /// Whether the last line in the file is incomplete.
    var isTorn = false
    /// The lines lost since the last one that was written.
    var lost = 0
  }

  let path: String
  private let report: @Sendable (String) -> Void
  private let put: Put
  private let state: Mutex<State>

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
    state = Mutex(State(descriptor: try Self.open(path)))
  }

  deinit { state.withLock { _ = Foundation.close($0.descriptor) } }

  private static func open(_ path: String) throws -> CInt {
    // Nobody waits for the reader of a named pipe.
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK
    let descriptor = Foundation.open(path, flags, 0o640)
    guard descriptor >= 0 else {
      throw ProgramError(
        "The access log \(path) cannot be opened: \(String(cString: strerror(errno))).",
        remedy: "Check its folder, or name another file with --access-log.")
    }
    return descriptor
  }

  /// Opens the file of this name again, after another program has renamed the open one. If that
  /// fails, lines go on into the old one.
  func reopen() {
    do {
      let new = try Self.open(path)
      state.withLock { state in
        _ = Foundation.close(state.descriptor)
        (state.descriptor, state.isTorn) = (new, false)
      }
    } catch {
      report("\(error)")
    }
  }

  /// Writes a line, given without its line feed.
  func write(_ line: String) {
    state.withLock { state in
      let bytes = Array("\(state.isTorn ? "\n" : "")\(line)\n".utf8)
      var written = 0
      while written < bytes.count {
        let count = bytes[written...].withUnsafeBytes { put(state.descriptor, $0) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else {
          let number = count < 0 ? errno : EIO
          if written > 0 { state.isTorn = bytes[written - 1] != UInt8(ascii: "\n") }
          state.lost += 1
          if state.lost == 1 { reportFailure(number) }
          return
        }
        written += count
      }
      state.isTorn = false
      guard state.lost > 0 else { return }
      report("The access log is written again; \(state.lost) lines of it were lost.")
      state.lost = 0
    }
  }

  private func reportFailure(_ number: CInt) {
    report(
      "The access log \(path) cannot be written (\(String(cString: strerror(number)))). Requests "
        + "are served on, and their lines are lost. Free space, or rename the file and send SIGHUP."
    )
  }
}
