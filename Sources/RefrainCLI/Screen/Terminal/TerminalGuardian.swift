// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks

  /// A small process that restores the terminal if this one is killed by a signal that cannot be
  /// caught (SIGKILL).
  ///
  /// It is a shell that reads a pipe, whose writing end closes however this process ends. Each line
  /// reports whether the terminal is changed: after a clean end the shell does nothing. It has its
  /// own session: signals from the terminal to this program's group do not reach it.
  enum TerminalGuardian {
    /// The writing end of the pipe; -1 while there is none.
    private static let pipe = Atomic<CInt>(-1)
    private static let process = Mutex<pid_t?>(nil)

    /// Standard input and output are the terminal, 3 is the pipe. `$1` makes the terminal leave the
    /// screen. If another program has changed the terminal's settings meanwhile, as a shell does
    /// before its prompt, they stay.
    private static let script = """
      trap '' HUP INT QUIT TERM TSTP TTIN TTOU PIPE
      raw=0
      while read -r line found_line <&3; do raw=$line; found=$found_line; done
      [ "$raw" = 0 ] && exit 0
      printf %s "$1"
      [ "$(stty -g)" = "$raw" ] && stty "$found"
      """

    /// Starts the process, unless it runs. If that fails, only its protection is lost.
    static func start(_ terminal: CInt, leaving sequence: String) {
      guard pipe.load(ordering: .sequentiallyConsistent) < 0 else { return }
      var ends: [CInt] = [-1, -1]
      guard Foundation.pipe(&ends) == 0 else { return }
      defer { close(ends[0]) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
      guard ends[0] > 2, let child = spawn(terminal, reading: ends[0], sequence) else {
        close(ends[1])
        return
      }
      process.withLock { $0 = child }
      pipe.store(ends[1], ordering: .sequentiallyConsistent)
    }

    /// Reports that the terminal is changed: `found` are its original settings, `raw` the current
    /// ones.
    static func note(raw: termios, found: termios) {
      send(Array("\(settings(raw)) \(settings(found))\n".utf8))
    }

    /// Reports that the terminal is restored. May be called by a signal handler.
    static func noteRestored() {
      withUnsafeTemporaryAllocation(byteCount: 2, alignment: 1) { bytes in
        bytes[0] = UInt8(ascii: "0")
        bytes[1] = UInt8(ascii: "\n")
        send(UnsafeRawBufferPointer(bytes))
      }
    }

    /// Ends the process, and waits for its end. The terminal must have been restored.
    static func end() {
      let file = pipe.exchange(-1, ordering: .sequentiallyConsistent)
      guard file >= 0 else { return }
      close(file)
      guard let child = process.withLock({ $0.take() }) else { return }
      var status: CInt = 0
      while waitpid(child, &status, 0) < 0, errno == EINTR {}
    }

    private static func send(_ bytes: [UInt8]) { bytes.withUnsafeBytes { send($0) } }

    /// The pipe holds many such lines; errors are ignored, since the process may be gone.
    private static func send(_ bytes: UnsafeRawBufferPointer) {
      let file = pipe.load(ordering: .sequentiallyConsistent)
      if file >= 0 { _ = write(file, bytes.baseAddress, bytes.count) }
    }

    private static func spawn(_ terminal: CInt, reading: CInt, _ sequence: String) -> pid_t? {
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_adddup2(&actions, terminal, 0)
      posix_spawn_file_actions_adddup2(&actions, terminal, 1)
      posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, reading, 3)
      // This process's connections would otherwise stay open in it: not all have O_CLOEXEC.
      for file in InheritedFiles.open where file > 3 {
        posix_spawn_file_actions_addclose(&actions, file)
      }
      var attributes = posix_spawnattr_t()
      posix_spawnattr_init(&attributes)
      defer { posix_spawnattr_destroy(&attributes) }
      posix_spawnattr_setflags(&attributes, sessionFlag)
      let words = cStrings(["sh", "-c", script, "sh", sequence])
      let variables = cStrings(["PATH=/usr/bin:/bin"])
      defer { for pointer in words + variables { free(pointer) } }
      var child: pid_t = 0
      let failure = posix_spawn(&child, "/bin/sh", &actions, &attributes, words, variables)
      return failure == 0 ? child : nil
    }

    /// POSIX_SPAWN_SETSID (posix_spawn(3)), which Glibc's module map does not show.
    private static let sessionFlag: Int16 = 0x80

    /// Returns C strings, terminated by a null pointer.
    private static func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
      texts.map { strdup($0) } + [nil]
    }

    /// Returns settings as `stty -g` writes them: four masks and the control characters, in
    /// hexadecimal.
    static func settings(_ settings: termios) -> String {
      var settings = settings
      let characters = withUnsafeBytes(of: &settings.c_cc) { Array($0) }
      let masks = [settings.c_iflag, settings.c_oflag, settings.c_cflag, settings.c_lflag]
      return (masks.map { String($0, radix: 16) } + characters.map { String($0, radix: 16) })
        .joined(separator: ":")
    }
  }
#endif
