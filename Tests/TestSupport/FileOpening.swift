// SPDX-License-Identifier: MIT
#if os(Linux)
  package import Foundation

  /// The moment when any process opens a file, as inotify(7) reports it.
  package final class FileOpening: Sendable {
    private let descriptor: CInt

    /// Begins to look.
    package init(of file: URL) throws {
      descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
      let watch = inotify_add_watch(
        descriptor, file.path(percentEncoded: false), UInt32(IN_OPEN))
      guard watch >= 0 else {
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
      }
    }

    deinit { close(descriptor) }

    /// Whether it was opened since the last call.
    package var hasHappened: Bool {
      var events = [UInt8](repeating: 0, count: 4096)
      return read(descriptor, &events, events.count) > 0
    }
  }
#endif
