// SPDX-License-Identifier: MIT
#if os(Linux)
  import Glibc

  /// Keeps libraries from writing over a screen: drivers of graphics cards report what they miss to
  /// standard error. Affects the whole process.
  struct ErrorOutputCover: Sendable {
    private let original: CInt

    /// Discards what is written to standard error from now on; returns nil if that is no terminal.
    init?() {
      guard isatty(STDERR_FILENO) == 1 else { return nil }
      let original = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
      guard original >= 0 else { return nil }
      let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
      guard null >= 0 else {
        close(original)
        return nil
      }
      dup2(null, STDERR_FILENO)
      close(null)
      self.original = original
    }

    /// Restores standard error. Call it once.
    func remove() {
      dup2(original, STDERR_FILENO)
      close(original)
    }
  }
#endif
