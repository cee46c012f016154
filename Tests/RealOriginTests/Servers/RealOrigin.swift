// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import TestSupport

/// A real server over a new folder, and a directory for caches that read from it.
final class RealOrigin: Sendable {
  let server: RealServer
  let directory: URL
  let port: Int
  private let process: Mutex<LeashedProcess?>
  /// The oldest recent modification date given to a file.
  private let oldestRecent = Mutex(Date.distantFuture)

  struct Problem: Error, CustomStringConvertible {
    var description: String
  }

  private init(server: RealServer, directory: URL, port: Int, process: LeashedProcess) {
    self.server = server
    self.directory = directory
    self.port = port
    self.process = Mutex(process)
  }

  static func start(_ server: RealServer, in directory: URL) async throws -> RealOrigin {
    var problem: (any Error)?
    for _ in 0..<5 {
      guard let port = FreePort.next() else { break }
      do {
        let process = try await launch(server, port: port, in: directory)
        return RealOrigin(server: server, directory: directory, port: port, process: process)
      } catch let failure as Problem {
        // Another process may have taken the port.
        problem = failure
      }
    }
    throw problem ?? Problem(description: "There is no free port.")
  }

  private static func launch(
    _ server: RealServer, port: Int, in directory: URL
  ) async throws -> LeashedProcess {
    try await launch(
      server.program, server.arguments(port: port, directory: directory), port: port, in: directory)
  }

  /// Returns once the program listens.
  static func launch(
    _ program: RequiredProgram, _ arguments: [String], port: Int, in directory: URL
  ) async throws -> LeashedProcess {
    let output = directory.appending(path: "output-\(UUID().uuidString).txt")
    let process = try LeashedProcess(program.path, arguments, in: directory, output: output)
    // A foreign process does not report that it listens, so this polls. The pauses are short and
    // bounded.
    let deadline = ContinuousClock.now + .seconds(30)
    while process.isRunning, ContinuousClock.now < deadline {
      if FreePort.accepts(port), process.isRunning { return process }
      try await Task.sleep(for: .milliseconds(10))
    }
    await process.kill()
    let said = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
    throw Problem(description: "\(program.name) does not listen on port \(port): \(said)")
  }

  /// Kills the server (SIGKILL).
  func kill() async {
    let process = process.withLock { process in
      defer { process = nil }
      return process
    }
    await process?.kill()
  }

  /// Restarts the server on the same port and over the same folder.
  func startAgain() async throws {
    let process = try await Self.launch(server, port: port, in: directory)
    self.process.withLock { $0 = process }
  }

  // MARK: Its folder

  /// Replaces a file as an editor does: readers of the old file keep it.
  func put(_ name: String, _ bytes: Data, modified: Date = .distantlyModified) throws {
    let files = directory.appending(path: "files", directoryHint: .isDirectory)
    let new = directory.appending(path: "new-\(UUID().uuidString)")
    try bytes.write(to: new)
    try FileManager.default.setAttributes(
      [.modificationDate: modified], ofItemAtPath: new.path(percentEncoded: false))
    if modified > .distantlyModified {
      oldestRecent.withLock { $0 = min($0, modified) }
    }
    let target = files.path(percentEncoded: false) + name
    guard rename(new.path(percentEncoded: false), target) == 0 else {
      throw Problem(description: "\(name) could not be put into the folder: errno \(errno)")
    }
  }

  /// Waits until recently modified files that were read so far must be revalidated: a file stays
  /// fresh for a tenth of its age (RFC 9111 §4.2.2), which is reported in whole seconds.
  func letReadFilesGoStale() async throws {
    let age = -oldestRecent.withLock { $0 }.timeIntervalSinceNow
    try await Task.sleep(for: .seconds((age + 1) / 10))
  }

  func url(_ path: String) throws -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)/\(path)") else {
      throw Problem(description: "\(path) is no path")
    }
    return url
  }

  func resource(_ path: String) throws -> Resource {
    Resource(url: try url(path), headers: server.headers)
  }

  // MARK: Caches

  /// Opens a cache on the directory, runs `body`, and closes the cache, as one process does.
  func withCache<Result>(
    _ change: (inout MediaCache.Configuration) -> Void = { _ in },
    _ body: (MediaCache) async throws -> Result
  ) async throws -> Result {
    var configuration = MediaCache.Configuration()
    configuration.limit = nil
    // Tests do not wait for a clock.
    configuration.retry.firstDelay = .milliseconds(1)
    configuration.retry.longestDelay = .milliseconds(20)
    change(&configuration)
    let cache = try MediaCache(
      directory: directory.appending(path: "cache"), configuration: configuration)
    do {
      let result = try await body(cache)
      await cache.close()
      return result
    } catch {
      await cache.close()
      throw error
    }
  }

  /// Returns the number of stored bytes of a resource.
  func storedBytes(_ path: String) async throws -> Int64 {
    try await withCache { cache in
      try await cache.entry(for: cache.key(for: resource(path)))?.cachedBytes ?? 0
    }
  }
}

/// Runs a test over a real server, and ends the server on every outcome.
func withRealOrigin(
  _ server: RealServer, _ body: (RealOrigin) async throws -> Void
) async throws {
  let directory = FileManager.default.temporaryDirectory
    .appending(path: "refrain-real-\(UUID().uuidString)", directoryHint: .isDirectory)
  try FileManager.default.createDirectory(
    at: directory.appending(path: "files"), withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: directory) }
  let origin = try await RealOrigin.start(server, in: directory)
  do {
    try await body(origin)
  } catch {
    await origin.kill()
    throw error
  }
  await origin.kill()
}

extension MediaReader {
  func bytes(_ range: ByteRange? = nil) async throws -> Data {
    var bytes = Data()
    for try await chunk in chunks(in: range) { bytes += chunk }
    return bytes
  }
}

extension MediaCache {
  /// Returns the resource, or a range of it, as a new reader receives it, and its cost.
  func read(
    _ resource: Resource, _ range: ByteRange? = nil
  ) async throws -> (bytes: Data, statistics: MediaReader.Statistics) {
    let reader = try await open(resource)
    defer { reader.cancel() }
    let bytes = try await reader.bytes(range)
    return (bytes, reader.statistics)
  }
}

extension Date {
  /// A date so long ago that a file modified then counts as fresh for a day (RFC 9111 §4.2.2).
  static let distantlyModified = Date(timeIntervalSinceNow: -100 * 24 * 3600)

  /// A date old enough (a second) for Last-Modified to be a strong validator (RFC 9110 §8.8.2.2),
  /// and too recent to count as fresh for long: see `letReadFilesGoStale`.
  static var recentlyModified: Date { Date(timeIntervalSinceNow: -1) }
}

/// Returns bytes in which each 4 KiB identifies its position and its seed.
func testBytes(_ count: Int, seed: UInt64) -> Data {
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  var block = [UInt8](repeating: 0, count: 4096)
  for index in block.indices {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    block[index] = UInt8(truncatingIfNeeded: state >> 56)
  }
  var bytes = Data(capacity: count + block.count)
  var number = seed << 32
  while bytes.count < count {
    withUnsafeBytes(of: number.bigEndian) { block.replaceSubrange(0..<8, with: $0) }
    bytes += block
    number += 1
  }
  return bytes.prefix(count)
}
