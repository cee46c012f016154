// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Glibc

  /// A listening Unix-domain socket (unix(7)), which only its user can connect to. All methods
  /// block for as long as the file system takes.
  struct ControlSocket: Sendable {
    let file: CInt
    private let path: String
    /// What tells the file of this socket from a later one at the path.
    private let device: dev_t
    private let inode: ino_t

    /// The longest path in bytes: that of the address of a socket, which ends with a NUL.
    static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// Creates the file and listens. The file of a program that has ended is replaced.
    ///
    /// - Throws: `ProgramError`.
    init(at path: String) throws {
      guard !path.isEmpty, !path.utf8.contains(0) else {
        throw ProgramError(
          "The path of the control socket is empty.", remedy: "Name a file that does not exist.")
      }
      guard path.utf8.count <= Self.longestPath else {
        throw ProgramError(
          "The path of the control socket has \(path.utf8.count) bytes, and sockets have at most "
            + "\(Self.longestPath): \(path)",
          remedy: "Name a shorter one, as in \(Self.example).")
      }
      self.path = path
      let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      file = socket(AF_UNIX, type, 0)
      guard file >= 0 else { throw Self.failure(path, errno) }
      do {
        // Two programs that start at once must not replace each other's file.
        let lock = FolderLock(of: path)
        defer { lock.release() }
        try Self.removeStale(path)
        (device, inode) = try Self.listen(file, at: path)
      } catch {
        close(file)
        throw error
      }
    }

    /// Closes the socket, and removes its file unless that is another's by now.
    func remove() {
      var status = stat()
      if lstat(path, &status) == 0, (status.st_dev, status.st_ino) == (device, inode) {
        unlink(path)
      }
      close(file)
    }

    private static var example: String {
      ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"].map { "\($0)/refrain" }
        ?? "/tmp/refrain"
    }

    // MARK: The file

    /// Removes the file of a socket on which nobody listens.
    private static func removeStale(_ path: String) throws {
      var status = stat()
      guard lstat(path, &status) == 0 else {
        if errno == ENOENT { return }
        throw failure(path, errno)
      }
      guard status.st_mode & S_IFMT == S_IFSOCK else {
        throw ProgramError(
          "\(path) exists, and is no socket.", remedy: "Remove it, or name another path.")
      }
      let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let probe = socket(AF_UNIX, type, 0)
      guard probe >= 0 else { throw failure(path, errno) }
      defer { close(probe) }
      let result = withAddress(path) { connect(probe, $0, $1) }
      guard result != 0, errno == ECONNREFUSED else {
        throw ProgramError(
          "\(path) is in use by another program.",
          remedy: "End that one, or name another path: each player has its own.")
      }
      guard unlink(path) == 0 || errno == ENOENT else { throw failure(path, errno) }
    }

    /// Binds and listens. Returns the identity of the file.
    private static func listen(_ file: CInt, at path: String) throws -> (dev_t, ino_t) {
      // On Linux, the file receives the mode of the unbound socket: nobody else can connect from
      // the first moment on. The umask, which is that of all threads, stays.
      guard fchmod(file, 0o600) == 0, withAddress(path, { bind(file, $0, $1) }) == 0 else {
        throw failure(path, errno)
      }
      var status = stat()
      guard lstat(path, &status) == 0 else { throw failure(path, errno) }
      guard status.st_mode & 0o077 == 0 else {
        unlink(path)
        throw ProgramError(
          "\(path) could not be made private.",
          remedy: "Name a path in a file system that keeps the modes of files.")
      }
      guard Glibc.listen(file, 16) == 0 else {
        let number = errno
        unlink(path)
        throw failure(path, number)
      }
      return (status.st_dev, status.st_ino)
    }

    private static func withAddress<Result>(
      _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { bytes in
        // The rest is zero.
        bytes.copyBytes(from: path.utf8.prefix(bytes.count - 1))
      }
      return withUnsafePointer(to: address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
    }

    private static func failure(_ path: String, _ number: CInt) -> ProgramError {
      let remedy =
        switch number {
        case ENOENT: "Create its folder, or name another path."
        case EACCES, EPERM, EROFS: "Name a path in a folder of your own, as in \(example)."
        default: "Name another path, as in \(example)."
        }
      return ProgramError(
        "The control socket \(path) could not be created: \(String(cString: strerror(number))).",
        remedy: remedy)
    }
  }

  /// A lock on the folder of a path, for a moment. If the folder is not readable, or another program
  /// keeps the lock for a second, the work is done without.
  private struct FolderLock {
    private let file: CInt

    init(of path: String) {
      let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
      file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard file >= 0 else { return }
      for _ in 0..<100 {
        guard flock(file, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
        usleep(10_000)
      }
    }

    func release() {
      if file >= 0 { close(file) }
    }
  }
#endif
