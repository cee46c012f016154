// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

/// A client that did not do what it was asked to, and what it said.
struct ClientFailure: Error, CustomStringConvertible {
  var description: String
}

/// Runs a program to its end, and returns what it said on stdout and stderr. Where it fails, or
/// still runs after the limit, that is an error: it is killed then.
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
