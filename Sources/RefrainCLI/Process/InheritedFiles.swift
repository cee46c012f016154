// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// The files that this program was started with. Files that it opens itself, above all a listening
/// socket, must not reach the programs that it starts.
///
/// Not every library opens its files with O_CLOEXEC: SwiftNIO's sockets lack it on Linux.
struct InheritedFiles: Sendable {
  private let descriptors: Set<CInt>

  /// Must be called before anything is opened.
  init() { descriptors = Self.open }

  /// Closes all other files in programs that are started from now on (fcntl(2), FD_CLOEXEC).
  func closeOthersOnExec() {
    for descriptor in Self.open.subtracting(descriptors) where descriptor > STDERR_FILENO {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
  }

  /// The descriptors that are open now.
  private static var open: Set<CInt> {
    guard let directory = opendir("/dev/fd") else { return [] }
    defer { closedir(directory) }
    var found: Set<CInt> = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(
          to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)
        ) { String(cString: $0) }
      }
      if let number = CInt(name), number != dirfd(directory) { found.insert(number) }
    }
    return found
  }
}
