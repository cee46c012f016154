// SPDX-License-Identifier: MIT
import Foundation
import Synchronization

/// A program that is measured, or that measures, and that this object ends.
final class Child {
  private let program: String
  private let output: FileHandle
  let identifier: pid_t

  /// - Parameters:
  ///   - program: a path, or a name that is also looked up where servers live.
  ///   - log: the file for its standard output, if that is not read here.
  init(_ program: String, _ arguments: [String], quiet: Bool = false, log: URL? = nil) throws {
    self.program = program
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
    // Closed in every other program: an inherited end would hide the end of the output.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[1]) }
    output = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    identifier = try Spawn.start(
      program, arguments, output: log.map { .file($0.path) } ?? .descriptor(ends[1]),
      errors: quiet ? .nowhere : .inherited)
    Self.running.withLock { _ = $0.insert(identifier) }
  }

  /// Ends the program (SIGTERM, and SIGKILL after ten seconds), and waits until it has ended.
  func stop() {
    let killer = DispatchWorkItem { [identifier] in _ = kill(identifier, SIGKILL) }
    kill(identifier, SIGTERM)
    DispatchQueue.global().asyncAfter(deadline: .now() + 10, execute: killer)
    _ = wait()
    killer.cancel()
  }

  /// Returns the program's first line on stdout.
  func line() throws -> String {
    var line = Data()
    while let byte = try output.read(upToCount: 1), !byte.isEmpty {
      if byte == Data([10]) { break }
      line += byte
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// Returns all of the program's stdout, once it has ended with status 0.
  func result() throws -> String {
    let said = try output.readToEnd() ?? Data()
    let status = wait()
    guard status == 0 else { throw Failure("\(program) ended with status \(status)") }
    return String(decoding: said, as: UTF8.self)
  }

  private func wait() -> Int32 {
    defer { Self.running.withLock { _ = $0.remove(identifier) } }
    return Spawn.wait(for: identifier).status
  }

  static func run(_ program: String, _ arguments: [String]) throws -> String {
    try Child(program, arguments).result()
  }

  // MARK: Signals

  private static let running = Mutex<Set<pid_t>>([])

  /// Makes signals that end this program end its children too, and remove its files.
  static func endWithSignals() { _ = sources }

  /// Set once and never changed.
  private nonisolated(unsafe) static let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler {
      running.withLock { for child in $0 { kill(child, SIGTERM) } }
      Measure.removeTemporaryDirectories()
      exit(128 + number)
    }
    source.activate()
    return source
  }
}
