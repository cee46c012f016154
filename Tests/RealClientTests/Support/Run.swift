// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import TestSupport

/// The failure of a client, with its output.
struct ClientFailure: Error, CustomStringConvertible {
  var description: String
}

/// Runs a program to its end, and returns its stdout and stderr. A failing program is an error, and
/// so is one that runs beyond the limit, which is killed.
@discardableResult
func run(
  _ program: RequiredProgram, _ arguments: [String], in directory: URL,
  environment: [String: String] = [:], limit: Duration = .seconds(90)
) async throws -> String {
  let output = directory.appending(path: "said-\(UUID().uuidString).txt")
  let process = try LeashedProcess(
    program.path, arguments, in: directory, output: output, environment: environment)
  let status = try await process.exitStatus(within: limit)
  let said = String(decoding: try Data(contentsOf: output), as: UTF8.self)
  guard status == 0 else {
    let end = status.map { "ended with status \($0)" } ?? "still ran after \(limit)"
    throw ClientFailure(description: "\(program.name) \(end): \(said.suffix(2000))")
  }
  return said
}

/// Runs `body` with a new directory, and removes it. Any user may write into it, because not every
/// client runs as the user who tests (see `VLC`).
func withDirectory<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
  let directory = FileManager.default.temporaryDirectory
    .appending(path: "refrain-clients-\(UUID().uuidString)", directoryHint: .isDirectory)
  try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: directory) }
  try FileManager.default.setAttributes(
    [.posixPermissions: 0o777], ofItemAtPath: directory.path(percentEncoded: false))
  return try await body(directory)
}

/// Runs `body` with an origin, and ends it on every outcome.
func withOrigin<Result>(
  sendBuffer: Int? = nil, _ body: (OriginServer) async throws -> Result
) async throws -> Result {
  let origin = try await OriginServer.start(sendBuffer: sendBuffer)
  do {
    let result = try await body(origin)
    await origin.stop()
    return result
  } catch {
    await origin.stop()
    throw error
  }
}

/// Values that are made once per test run, when they are first needed.
final class MadeOnce<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let makings = Mutex<[Key: Task<Value, any Error>]>([:])

  func value(
    for key: Key, _ make: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let making = makings.withLock { makings in
      if let making = makings[key] { return making }
      let making = Task { try await make() }
      makings[key] = making
      return making
    }
    return try await making.value
  }
}

/// A text as JSON, which JavaScript reads as the same text.
enum JSONText {
  static func of(_ text: String) -> String {
    guard let data = try? JSONEncoder().encode(text) else { return "\"\"" }
    return String(decoding: data, as: UTF8.self)
  }
}
