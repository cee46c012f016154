// SPDX-License-Identifier: MIT
import Foundation
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
