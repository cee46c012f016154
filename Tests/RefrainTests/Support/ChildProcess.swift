// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A `refrain-crash-child` with pipes to its stdin and from its stdout. Its calls block.
final class ChildProcess {
  private let process: pid_t
  private let input: Int32
  let output: Int32
  private var status: Int32?

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// The path of the program, which is built beside the tests.
  static var path: String {
    #if canImport(Darwin)
      // On Darwin, tests are a bundle that another program loads.
      let own = Bundle(for: ChildProcess.self).bundleURL
    #else
      let own = URL(
        filePath: (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
          ?? CommandLine.arguments[0])
    #endif
    return own.deletingLastPathComponent()
      .appending(path: "refrain-crash-child").path(percentEncoded: false)
  }

  init(_ mode: String, _ directory: URL, _ url: URL, _ number: UInt64) throws {
    var toChild: [Int32] = [-1, -1]
    var fromChild: [Int32] = [-1, -1]
    guard Self.pipe(&toChild), Self.pipe(&fromChild) else { throw Failure(description: "pipe") }
    #if canImport(Glibc)
      var actions = posix_spawn_file_actions_t()
    #else
      var actions: posix_spawn_file_actions_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
    posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
    actions.closeFiles(from: 3)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let path = directory.path(percentEncoded: false)
    let arguments = [Self.path, mode, path, url.absoluteString, String(number)]
    // Swift does not offer `environ` on every platform.
    let variables = ProcessInfo.processInfo.environment.map { "\($0)=\($1)" }
    let words = Self.cStrings(arguments)
    let environment = Self.cStrings(variables)
    defer { for pointer in words + environment { free(pointer) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, Self.path, &actions, nil, words, environment)
    close(toChild[0])
    close(fromChild[1])
    guard result == 0 else {
      throw Failure(description: "\(Self.path): \(String(cString: strerror(result)))")
    }
    self.process = process
    input = toChild[1]
    output = fromChild[0]
  }

  deinit {
    if status == nil {
      kill()
      wait()
    }
    close(input)
    close(output)
  }

  /// Returns C strings, ended by a null pointer.
  private static func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    texts.map { strdup($0) } + [nil]
  }

  private static func pipe(_ ends: inout [Int32]) -> Bool {
    guard Foundation.pipe(&ends) == 0 else { return false }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return true
  }

  func kill() { _ = Foundation.kill(process, SIGKILL) }

  /// Waits for the child. Returns its exit status, or 128 plus the signal that ended it.
  @discardableResult
  func wait() -> Int32 {
    if let status { return status }
    var raw: Int32 = 0
    while waitpid(process, &raw, 0) < 0, errno == EINTR {}
    let status = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : 128 + (raw & 0x7F)
    self.status = status
    return status
  }

  /// Reads the next `count` bytes of its stdout, fewer if it ends before.
  func read(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes { buffer in
        Foundation.read(output, buffer.baseAddress.map { $0 + done }, count - done)
      }
      if got < 0, errno == EINTR { continue }
      if got <= 0 { break }
      done += got
    }
    bytes.removeLast(count - done)
    return bytes
  }

  func readToEnd() -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let part = read(1 << 16)
      bytes += part
      if part.count < 1 << 16 { return bytes }
    }
  }

  /// Reads the next chunk that the child reported.
  func nextChunk() -> Range<Int64>? {
    let record = read(16)
    guard record.count == 16 else { return nil }
    let numbers = [record[..<8], record[8...]].map { word in
      word.reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
    }
    return numbers[0]..<(numbers[0] + numbers[1])
  }
}

/// A process that has read the first bytes of a resource, and holds its entry until it is killed.
struct HoldingProcess: @unchecked Sendable {
  // One thread at a time uses it.
  private let child: ChildProcess

  /// - Returns: the process once it has read.
  static func start(
    _ directory: URL, _ url: URL, reading count: UInt64 = 500_000
  ) async throws -> HoldingProcess {
    try await onThread {
      let child = try ChildProcess("hold", directory, url, count)
      while let byte = child.read(1).first, byte != UInt8(ascii: "\n") {}
      return HoldingProcess(child: child)
    }
  }

  func kill() async throws {
    try await onThread {
      child.kill()
      child.wait()
    }
  }
}
