// SPDX-License-Identifier: MIT
import Foundation

/// A program that is run to its end and timed.
enum Command {
  struct Outcome {
    /// Seconds from before its start until it has ended.
    var seconds: Double
    /// User and system time, including that of the children it has waited for.
    var cpuSeconds: Double
    var output: String
  }

  /// - Throws: if the program cannot be started, or ends with a status other than 0.
  @discardableResult
  static func run(_ program: String, _ arguments: [String]) throws -> Outcome {
    let said = Measure.temporaryDirectory("output").path
    let complained = Measure.temporaryDirectory("errors").path
    defer {
      unlink(said)
      unlink(complained)
    }
    let start = Monotonic.now
    let process = try Spawn.start(
      program, arguments, output: .file(said), errors: .file(complained))
    let (status, cpuSeconds) = Spawn.wait(for: process)
    let seconds = Monotonic.now - start
    guard status == 0 else {
      let errors = (try? String(contentsOfFile: complained, encoding: .utf8)) ?? ""
      let last = errors.split(separator: "\n").last.map { ": \($0)" } ?? ""
      throw Failure(
        "\(program) \(arguments.first ?? "") ended with status \(status)" + last)
    }
    return Outcome(
      seconds: seconds, cpuSeconds: cpuSeconds,
      output: try String(contentsOfFile: said, encoding: .utf8))
  }
}
