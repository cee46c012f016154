// SPDX-License-Identifier: MIT
import Foundation

/// Starts programs by posix_spawn(3): Foundation's `Process` notices late that a program has ended,
/// and passes on the blocked signals of the thread that started it.
enum Spawn {
  /// The destination of a program's output.
  enum Sink {
    case nowhere
    case file(String)
    case descriptor(Int32)
    /// The output of this program.
    case inherited
  }

  /// - Parameter program: a path, or a name that is looked up in `PATH` and where servers live.
  static func start(
    _ program: String, _ arguments: [String], output: Sink, errors: Sink
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    add(output, as: 1, to: &actions)
    add(errors, as: 2, to: &actions)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    // Signals that are ignored here are not ignored there.
    var ignored = sigset_t()
    sigemptyset(&ignored)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { sigaddset(&ignored, signal) }
    posix_spawnattr_setsigdefault(&attributes, &ignored)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
    defer { words.forEach { free($0) } }
    words.append(nil)
    var process = pid_t()
    let failure = posix_spawn(&process, try find(program), &actions, &attributes, words, environ)
    guard failure == 0 else {
      throw Failure("\(program) cannot be started: \(String(cString: strerror(failure)))")
    }
    return process
  }

  /// Waits until a started program has ended.
  ///
  /// - Returns: its exit status, or 128 plus the number of the signal that ended it; and its CPU
  ///   time, including that of the children it has waited for.
  static func wait(for process: pid_t) -> (status: Int32, cpuSeconds: Double) {
    var status: Int32 = 0
    var usage = rusage()
    while wait4(process, &status, 0, &usage) < 0, errno == EINTR {}
    let signal = status & 0x7F
    return (
      signal == 0 ? status >> 8 & 0xFF : 128 + signal,
      [usage.ru_utime, usage.ru_stime].reduce(0) {
        $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
      }
    )
  }

  private static func add(
    _ sink: Sink, as descriptor: Int32, to actions: inout posix_spawn_file_actions_t
  ) {
    let flags = O_WRONLY | O_CREAT | O_TRUNC
    switch sink {
    case .nowhere:
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    case .file(let path):
      posix_spawn_file_actions_addopen(&actions, descriptor, path, flags, 0o600)
    case .descriptor(let other): posix_spawn_file_actions_adddup2(&actions, other, descriptor)
    case .inherited: break
    }
  }

  private static func find(_ program: String) throws -> String {
    if program.contains("/") { return program }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let folders =
      path.split(separator: ":").map(String.init) + ["/usr/bin", "/usr/sbin", "/usr/local/sbin"]
    for folder in folders {
      let path = folder + "/" + program
      if FileManager.default.isExecutableFile(atPath: path) { return path }
    }
    throw Failure("\(program) is not installed (make bench installs it)")
  }
}

/// The reason why something could not be measured.
struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
