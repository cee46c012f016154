// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Darwin)
  package typealias SpawnedFiles = posix_spawn_file_actions_t?
#else
  package typealias SpawnedFiles = posix_spawn_file_actions_t
#endif

extension SpawnedFiles {
  private typealias Closing =
    @convention(c) (UnsafeMutablePointer<SpawnedFiles>, CInt) -> CInt

  /// posix_spawn_file_actions_addclosefrom_np(3), which Glibc's module map does not show; nil before
  /// glibc 2.34, and in other libraries.
  private static let closing = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
    unsafeBitCast($0, to: Closing.self)
  }

  /// Closes in the program to be started every descriptor from `first` on. Called after the actions
  /// that prepare the descriptors below.
  ///
  /// SwiftNIO's sockets stay open across exec(3). A program that inherited those of other tests
  /// would keep their ports taken and their connections open. Foundation's `Process` needs no such
  /// call: it closes whatever is open when it starts a program.
  package mutating func closeFiles(from first: CInt) {
    if let closing = Self.closing, closing(&self, first) == 0 { return }
    // No program of a test is to inherit them, so that they can be closed on exec here.
    let open = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? []
    for descriptor in open.compactMap({ CInt($0) }) where descriptor >= first {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
  }
}
