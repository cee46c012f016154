// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A real file system of a few MiB in memory, if this process may mount one.
package final class SmallFileSystem: Sendable {
  package let directory: URL

  /// Whether this process may mount one; prints a line if tests are skipped because it may not.
  package static let isUsable: Bool = {
    let (mounted, reason) = mount(bytes: 1 << 20)
    if mounted == nil { print("skipped: no small file system can be mounted (\(reason))") }
    return mounted != nil
  }()

  /// Returns nil where mounting is not allowed; `reason` says why.
  package static func mount(bytes: Int) -> (SmallFileSystem?, reason: String) {
    #if os(Linux)
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-mount-\(UUID().uuidString)", directoryHint: .isDirectory)
      let path = directory.path(percentEncoded: false)
      guard mkdir(path, 0o700) == 0 else { return (nil, String(cString: strerror(errno))) }
      guard Glibc.mount("tmpfs", path, "tmpfs", 0, "size=\(bytes)") == 0 else {
        let reason = String(cString: strerror(errno))
        rmdir(path)
        return (nil, reason)
      }
      return (SmallFileSystem(directory), "")
    #else
      return (nil, "only Linux mounts a tmpfs")
    #endif
  }

  private init(_ directory: URL) { self.directory = directory }

  deinit {
    #if os(Linux)
      let path = directory.path(percentEncoded: false)
      _ = umount2(path, Int32(MNT_DETACH))
      rmdir(path)
    #endif
  }
}
